package drover

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enum is an enum of package droverpb; the first value of each is its UNSPECIFIED.
type enum interface {
	~int32
	protoreflect.Enum
}

// nameOf leaves out the name of the enum: RUN_STATE_FAILED is FAILED, and UNSPECIFIED is "". A
// value of a newer server, which this version does not know, is UNKNOWN_ with its number.
func nameOf[Name ~string](value protoreflect.Enum) Name {
	values := value.Descriptor().Values()
	known := values.ByNumber(value.Number())
	switch {
	case value.Number() == 0:
		return ""
	case known == nil:
		return Name(fmt.Sprintf("UNKNOWN_%d", value.Number()))
	}
	prefix := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED")
	return Name(strings.TrimPrefix(string(known.Name()), prefix))
}

// wordOf is the name as the text of a workflow has it: QUEUE_ONE is queue-one.
func wordOf[Word ~string](value protoreflect.Enum) Word {
	return Word(strings.ReplaceAll(strings.ToLower(nameOf[string](value)), "_", "-"))
}

// valuesOf undoes nameOf for each.
func valuesOf[Enum enum, Name ~string](names []Name) ([]Enum, error) {
	var values []Enum
	for _, name := range names {
		value, err := valueOf[Enum](name, nameOf[Name])
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// valueOfWord undoes wordOf.
func valueOfWord[Enum enum, Word ~string](word Word) (Enum, error) {
	if word == "" {
		return 0, nil
	}
	return valueOf[Enum](word, wordOf[Word])
}

func valueOf[Enum enum, Name ~string](name Name, form func(protoreflect.Enum) Name) (Enum, error) {
	described := Enum(0).Descriptor()
	var known []string
	for at := 1; at < described.Values().Len(); at++ {
		value := Enum(described.Values().Get(at).Number())
		if form(value) == name {
			return value, nil
		}
		known = append(known, string(form(value)))
	}
	const text = "drover: there is no %s %q; use one of %s"
	return 0, fmt.Errorf(text, described.Name(), name, strings.Join(known, ", "))
}
