package drover_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A message of the contract has fields and methods that a program need not see, and changes with
// its generator. A program that wants one uses package droverpb with Client.Conn.
func TestNoExportedNameHasAMessageOfTheContract(t *testing.T) {
	for _, folder := range []string{".", "workflow", "drovertest", "examples/aesgcm"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		equal(t, "error", err, nil)
		equal(t, "there are files", len(files) > 0, true)
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			equal(t, "error", err, nil)
			equal(t, "names in "+path, exportsWithMessages(file), nil)
		}
	}
}

func TestAMessageIsFoundWhereverAProgramSeesIt(t *testing.T) {
	for source, want := range map[string]string{
		"func (c *Client) Bulk(request *droverpb.BulkActionRequest) {}":           "Client.Bulk",
		"func (c *Client) Watch() iter.Seq2[*droverpb.Run, error] { return nil }": "Client.Watch",
		"func All(request *droverpb.GetRunRequest) {}":                            "All",
		"type Include func(*droverpb.GetRunRequest)":                              "Include",
		"type Page struct{ Runs []*droverpb.Run }":                                "Page",
		"type Calls interface{ Wait(of *timestamppb.Timestamp) }":                 "Calls",
		"var Default droverpb.RunState":                                           "Default",
		"type Task struct{ message *droverpb.Task }":                              "",
		"type Name interface{ ref() *droverpb.RunRef }":                           "",
		"func (s *script) Next() *droverpb.Run { return nil }":                    "",
		"func runOf(message *droverpb.Run) Run { return Run{} }":                  "",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "", "package drover\n"+source, 0)
		equal(t, "error", err, nil)
		equal(t, source, strings.Join(exportsWithMessages(file), " "), want)
	}
}

func exportsWithMessages(file *ast.File) (names []string) {
	for _, declared := range file.Decls {
		switch declared := declared.(type) {
		case *ast.FuncDecl:
			name := declared.Name.Name
			if declared.Recv != nil {
				name = receiverOf(declared) + "." + name
			}
			if isExported(name) && hasMessage(declared.Type) {
				names = append(names, name)
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() && hasMessage(spec.Type) {
						names = append(names, spec.Name.Name)
					}
				case *ast.ValueSpec:
					if spec.Names[0].IsExported() && hasMessage(spec) {
						names = append(names, spec.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}

func receiverOf(method *ast.FuncDecl) (name string) {
	ast.Inspect(method.Recv.List[0].Type, func(node ast.Node) bool {
		if identifier, ok := node.(*ast.Ident); ok && name == "" {
			name = identifier.Name
		}
		return true
	})
	return name
}

func isExported(name string) bool {
	return !slices.ContainsFunc(strings.Split(name, "."), func(part string) bool {
		return !ast.IsExported(part)
	})
}

// hasMessage leaves out fields and methods that are not exported.
func hasMessage(of ast.Node) (found bool) {
	ast.Inspect(of, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.StructType, *ast.InterfaceType:
		case *ast.Field:
			if len(node.Names) > 0 && !node.Names[0].IsExported() && !isParameter(of, node) {
				return false
			}
		case *ast.SelectorExpr:
			from, ok := node.X.(*ast.Ident)
			found = found || ok && strings.HasSuffix(from.Name, "pb")
		}
		return true
	})
	return found
}

// isParameter: parameters have names in small letters, and are seen all the same.
func isParameter(of ast.Node, field *ast.Field) (is bool) {
	ast.Inspect(of, func(node ast.Node) bool {
		if function, ok := node.(*ast.FuncType); ok {
			is = is || slices.Contains(function.Params.List, field)
			if function.Results != nil {
				is = is || slices.Contains(function.Results.List, field)
			}
		}
		return true
	})
	return is
}
