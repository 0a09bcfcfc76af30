// The error summary takes focus, so that a screen reader reads it first.
document.querySelector(".errors[tabindex]")?.focus();
