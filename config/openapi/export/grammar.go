package export

// element is a kind of OpenAPI object. Its members are listed in grammar.
type element string

const (
	documentObject   element = "document"
	componentsObject element = "components"
	pathItemObject   element = "path item"
	operationObject  element = "operation"
	parameterObject  element = "parameter"
	bodyObject       element = "request body"
	responseObject   element = "response"
	headerObject     element = "header"
	mediaTypeObject  element = "media type"
	encodingObject   element = "encoding"
	exampleObject    element = "example"
	linkObject       element = "link"
	callbackObject   element = "callback"
	securityObject   element = "security scheme"
	schemaObject     element = "schema"
)

// slot describes the value of a member of an object.
type slot struct {
	element
	form slotForm
}

type slotForm uint8

const (
	single slotForm = iota // an object; in schemas also a boolean
	listOf                 // a list of objects
	mapOf                  // a map of names to objects
)

// sections maps each element to its section in components.
var sections = map[element]string{
	schemaObject: "schemas", responseObject: "responses", parameterObject: "parameters", exampleObject: "examples",
	bodyObject: "requestBodies", headerObject: "headers", securityObject: "securitySchemes", linkObject: "links",
	callbackObject: "callbacks", pathItemObject: "pathItems",
}

// grammar lists the members of each object that contain objects, and so everything that a reference
// can stand for. Members that are not listed, such as the value of an example, contain no objects,
// whatever they look like. The key "" stands for every member that is not an extension.
var grammar = map[element]map[string]slot{
	documentObject: {"paths": {pathItemObject, mapOf}, "webhooks": {pathItemObject, mapOf}, "components": {componentsObject, single}},
	componentsObject: {
		"schemas": {schemaObject, mapOf}, "responses": {responseObject, mapOf}, "parameters": {parameterObject, mapOf},
		"examples": {exampleObject, mapOf}, "requestBodies": {bodyObject, mapOf}, "headers": {headerObject, mapOf},
		"securitySchemes": {securityObject, mapOf}, "links": {linkObject, mapOf}, "callbacks": {callbackObject, mapOf},
		"pathItems": {pathItemObject, mapOf},
	},
	pathItemObject: {
		"parameters": {parameterObject, listOf},
		"get":        {operationObject, single}, "put": {operationObject, single}, "post": {operationObject, single},
		"delete": {operationObject, single}, "options": {operationObject, single}, "head": {operationObject, single},
		"patch": {operationObject, single}, "trace": {operationObject, single},
	},
	operationObject: {
		"parameters": {parameterObject, listOf}, "requestBody": {bodyObject, single},
		"responses": {responseObject, mapOf}, "callbacks": {callbackObject, mapOf},
	},
	parameterObject: {"schema": {schemaObject, single}, "content": {mediaTypeObject, mapOf}, "examples": {exampleObject, mapOf}},
	headerObject:    {"schema": {schemaObject, single}, "content": {mediaTypeObject, mapOf}, "examples": {exampleObject, mapOf}},
	bodyObject:      {"content": {mediaTypeObject, mapOf}},
	responseObject:  {"headers": {headerObject, mapOf}, "content": {mediaTypeObject, mapOf}, "links": {linkObject, mapOf}},
	mediaTypeObject: {"schema": {schemaObject, single}, "examples": {exampleObject, mapOf}, "encoding": {encodingObject, mapOf}},
	encodingObject:  {"headers": {headerObject, mapOf}},
	callbackObject:  {"": {pathItemObject, single}},
	schemaObject: {
		"properties": {schemaObject, mapOf}, "patternProperties": {schemaObject, mapOf}, "dependentSchemas": {schemaObject, mapOf},
		"$defs": {schemaObject, mapOf}, "definitions": {schemaObject, mapOf},
		"allOf": {schemaObject, listOf}, "anyOf": {schemaObject, listOf}, "oneOf": {schemaObject, listOf}, "prefixItems": {schemaObject, listOf},
		"items": {schemaObject, single}, "additionalProperties": {schemaObject, single}, "not": {schemaObject, single},
		"if": {schemaObject, single}, "then": {schemaObject, single}, "else": {schemaObject, single}, "contains": {schemaObject, single},
		"propertyNames": {schemaObject, single}, "contentSchema": {schemaObject, single},
		"unevaluatedItems": {schemaObject, single}, "unevaluatedProperties": {schemaObject, single},
	},
}
