(comment) @comment
(string) @string
(number) @number
[(boolean) (infinity)] @constant.builtin

["use" "param" "let" "fn" "window" "input" "var" "tensor" "view" "output" "set"] @keyword
["take" "stride" "offset" "map" "as" "blend" "init" "chunk" "format" "from" "extern"] @keyword
["if" "then" "else" "in"] @keyword.control
["and" "or" "not"] @keyword.operator

(use module: (identifier) @module)
(function name: (identifier) @function)
(call function: (identifier) @function.call)
(reduction kind: (identifier) @function.builtin)
(method name: (identifier) @function.method)
(parameter name: (identifier) @variable.parameter)
(binder name: (identifier) @variable.parameter)
(dimension label: (identifier) @property)
(tensor_type element: (identifier) @type)
(tensor name: (identifier) @variable)
