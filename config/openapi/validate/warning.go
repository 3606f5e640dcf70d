package validate

// Kinds of warnings that can occur many times in one document.
const (
	manyUnchecked  = "rules that requests are not checked against"
	manyUndeclared = "security schemes are not declared; requests are not checked against them"
)
