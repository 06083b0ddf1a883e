"""A recurrent network that learns to tell words apart, by surrogate gradients: words made here."""
