// A button that copies the code of a block, without prompts.
for (const block of document.querySelectorAll(":not(.cell_output) > div > div.highlight pre")) {
  const button = document.createElement("button");
  button.className = "copy";
  button.type = "button";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this code");
  button.addEventListener("click", async () => {
    const lines = block.textContent.trimEnd().split("\n");
    const typed = lines.filter(line => /^(>>>|\.\.\.) /.test(line)).map(line => line.slice(4));
    await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n"));
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  block.parentElement.append(button);
}
