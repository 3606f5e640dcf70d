package validate

// Kinds of warnings that can occur many times in one document.
const (
	manyUnchecked  = "things that requests are not held against"
	manyUndeclared = "security schemes are not declared; requests are not held against them"
)
