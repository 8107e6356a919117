// The grammar of .itp for tree-sitter, in the order of grammar/itp.lalrpop.

const comma = (rule) => seq(repeat(seq(rule, ',')), optional(rule));
const comma1 = (rule) => seq(rule, repeat(seq(',', rule)), optional(','));

const PREC = {
  choice: 1,
  or: 2,
  and: 3,
  compare: 4,
  bit_or: 5,
  bit_xor: 6,
  bit_and: 7,
  shift: 8,
  sum: 9,
  product: 10,
  power: 11,
  unary: 12,
  postfix: 13,
};

module.exports = grammar({
  name: 'itp',

  extras: ($) => [/\s/, $.comment],
  word: ($) => $.identifier,

  rules: {
    source_file: ($) => repeat($._item),

    _item: ($) =>
      choice($.use, $.param, $.let, $.function, $.window_item, $.input, $.var, $.tensor, $.view, $.output, $.set),

    use: ($) => seq('use', choice(field('module', alias($._word, $.identifier)), field('path', $.string))),
    param: ($) =>
      seq('param', field('name', $.identifier), optional(seq(':', field('type', $.identifier))), '=', $._expression),
    let: ($) => seq('let', field('name', $.identifier), '=', $._expression),
    function: ($) =>
      seq(
        'fn',
        field('name', $.identifier),
        '(',
        comma($.parameter),
        ')',
        optional(seq('->', field('type', $.identifier))),
        '=',
        field('body', $._expression),
      ),
    parameter: ($) =>
      seq(
        field('name', $.identifier),
        optional(seq(':', field('type', $.identifier))),
        optional(seq('=', field('default', $._expression))),
      ),
    window_item: ($) => seq('window', field('name', $.identifier), '=', $._window),
    input: ($) =>
      seq(
        'input',
        field('name', $.identifier),
        ':',
        $.tensor_type,
        optional($.format),
        optional(seq('from', choice($.string, $.identifier))),
      ),
    var: ($) =>
      seq('var', field('name', $.identifier), ':', $.tensor_type, optional(seq('chunk', $.list)), '=', $._expression),
    tensor: ($) =>
      seq(
        'tensor',
        field('name', $.identifier),
        ':',
        $.tensor_type,
        repeat($._clause),
        '=',
        field('body', choice($._expression, $.extern)),
      ),
    extern: ($) => seq('extern', $.string, '(', comma($._argument), ')'),
    view: ($) => seq('view', field('name', $.identifier), '=', $._expression),
    output: ($) => seq('output', field('path', $.string), '=', $._expression, repeat($.option)),
    option: ($) =>
      prec.right(
        choice(
          seq(field('name', $.identifier), choice($._expression, $.range)),
          seq(field('name', 'chunk'), $.list),
        ),
      ),
    set: ($) => seq('set', $._expression, '=', $._expression),

    tensor_type: ($) => seq(field('element', $.identifier), '[', comma($.dimension), ']'),
    dimension: ($) =>
      seq(field('label', $.identifier), ':', choice($.bound, seq($.bound, '..', $.bound))),
    bound: ($) => seq($._expression, optional('*')),

    _clause: ($) => choice($.window, $.take, $.blend, $.chunk, $.format),
    window: ($) => seq('window', $._window, optional(seq('as', '[', comma($.identifier), ']'))),
    take: ($) => seq('take', field('name', $.identifier), '=', $._expression, 'window', $._window),
    blend: ($) =>
      seq(
        'blend',
        choice(
          $.identifier,
          seq('(', field('old', $.identifier), ',', field('new', $.identifier), optional(','), ')', '=>', $._expression),
        ),
        optional(seq('init', $._expression)),
      ),
    chunk: ($) => seq('chunk', $.list),
    format: ($) => seq('format', $._expression),
    _window: ($) => prec.right(seq(choice($.list, $.identifier), repeat($.window_part))),
    window_part: ($) => seq(choice('stride', 'offset', 'map'), $.list),

    _expression: ($) =>
      choice(
        $.if,
        $.reduction,
        $.binary,
        $.unary,
        $.index,
        $.method,
        $.call,
        $.number,
        $.boolean,
        $.infinity,
        $.identifier,
        $.parenthesized,
        $.block,
        $.map,
        $.list,
      ),

    if: ($) => prec.right(PREC.choice, seq('if', $._expression, 'then', $._expression, 'else', $._expression)),
    reduction: ($) =>
      prec.right(
        PREC.choice,
        seq(field('kind', $.identifier), '(', comma1($.binder), ')', field('body', $._expression)),
      ),
    binder: ($) => seq(field('name', $.identifier), 'in', $._expression, choice('..', '..='), $._expression),

    binary: ($) => {
      const left = [
        ['or', PREC.or],
        ['and', PREC.and],
        [choice('==', '!=', '<', '<=', '>', '>='), PREC.compare],
        ['|', PREC.bit_or],
        ['^', PREC.bit_xor],
        ['&', PREC.bit_and],
        [choice('<<', '>>'), PREC.shift],
        [choice('+', '-'), PREC.sum],
        [choice('*', '/', '//', '%'), PREC.product],
      ];
      const rule = (operator) => seq($._expression, field('operator', operator), $._expression);
      return choice(
        ...left.map(([operator, level]) => prec.left(level, rule(operator))),
        prec.right(PREC.power, rule('**')),
      );
    },
    unary: ($) => prec(PREC.unary, seq(field('operator', choice('-', 'not')), $._expression)),

    index: ($) => prec(PREC.postfix, seq($._expression, '[', comma($._index), ']')),
    _index: ($) => choice($._expression, $.slice, '...'),
    slice: ($) =>
      seq(optional($._expression), ':', optional($._expression), optional(seq(':', optional($._expression)))),
    method: ($) =>
      prec(
        PREC.postfix,
        seq($._expression, '.', field('name', alias($._word, $.identifier)), '(', comma($._argument), ')'),
      ),
    call: ($) => prec(PREC.postfix, seq(field('function', $.identifier), '(', comma($._argument), ')')),
    _argument: ($) => choice($._expression, $.string),

    parenthesized: ($) => seq('(', $._expression, ')'),
    block: ($) => seq('{', repeat($.block_let), field('result', $._expression), '}'),
    block_let: ($) => seq('let', field('name', $.identifier), '=', $._expression, ';'),
    map: ($) => seq('{', comma($.entry), '}'),
    entry: ($) => seq(choice($.identifier, $.number), ':', choice($._expression, $.range)),
    list: ($) => seq('[', comma(choice($._expression, $.range)), ']'),
    range: ($) => seq($._expression, '..', $._expression),

    boolean: ($) => choice('true', 'false'),
    infinity: ($) => 'inf',
    number: ($) =>
      token(
        choice(
          /0x[0-9a-fA-F_]+/,
          /[0-9][0-9_]*/,
          /[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9]+)?/,
          /[0-9][0-9_]*[eE][+-]?[0-9]+/,
        ),
      ),
    string: ($) => token(seq('"', repeat(choice(/[^"\\\n]/, /\\[^\n]/)), '"')),
    identifier: ($) => /[A-Za-z_][A-Za-z0-9_]*/,

    // After `use` and a dot any word is a name.
    _word: ($) =>
      choice(
        $.identifier,
        ...[
          'use', 'param', 'let', 'fn', 'window', 'input', 'var', 'tensor', 'view', 'output', 'set', 'take', 'stride',
          'offset', 'map', 'as', 'blend', 'init', 'chunk', 'format', 'from', 'extern', 'if', 'then', 'else', 'in',
          'and', 'or', 'not', 'true', 'false', 'inf',
        ],
      ),
    comment: ($) => token(seq('#', /[^\n]*/)),
  },
});
