package validate

// Kinds of warnings, of which a document may have many.
const (
	manyUnchecked  = "things that requests are not held against"
	manyUndeclared = "security schemes are not declared; requests are not held against them"
)
