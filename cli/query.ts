/** The part of jq that scripts use most: paths, `[]`, indexes, `select(a == b)`, `length`, `keys`, pipes. */
import { AppError } from '../server/contract/errors.ts';

type Step = (value: unknown) => readonly unknown[];

const wrong = (expression: string, at: string): AppError =>
  new AppError('usage', { detail: `--jq ${expression}: ${at}` });

/** @throws AppError usage */
export function runQuery(expression: string, value: unknown): readonly unknown[] {
  let values: readonly unknown[] = [value];
  for (const part of splitPipes(expression)) {
    const step = stepOf(part.trim(), expression);
    values = values.flatMap(step);
  }
  return values;
}

/** Splits at `|` outside of quotes. */
function splitPipes(expression: string): string[] {
  return expression.match(/(?:"[^"]*"|[^|"])+/g) ?? [];
}

function stepOf(part: string, expression: string): Step {
  if (part === '.') return (value) => [value];
  if (part === 'length')
    return (value) => [
      Array.isArray(value) || typeof value === 'string' ? value.length : Object.keys(Object(value)).length,
    ];
  if (part === 'keys') return (value) => [Object.keys(Object(value)).sort()];
  const selection = /^select\((\.[^\s=!<>]*)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*\)$/.exec(part);
  if (selection !== null) {
    const [, path = '.', operator, literal] = selection;
    const read = pathOf(path, expression);
    if (operator === undefined) return (value) => (read(value)[0] ? [value] : []);
    const right = literalOf(literal ?? '', expression);
    return (value) => (compare(read(value)[0], operator, right) ? [value] : []);
  }
  return pathOf(part, expression);
}

function literalOf(text: string, expression: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong(expression, text);
  }
}

function compare(left: unknown, operator: string, right: unknown): boolean {
  if (operator === '==') return left === right;
  if (operator === '!=') return left !== right;
  const [a, b] = [left as number, right as number];
  return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
}

function pathOf(path: string, expression: string): Step {
  const pieces = [...path.matchAll(/\.([A-Za-z_][\w-]*)|\.?\["([^"]*)"\]|\.?\[(-?\d+)\]|\.?(\[\])/g)];
  const length = pieces.reduce((sum, piece) => sum + piece[0].length, 0);
  if (length !== path.length) throw wrong(expression, path);
  return (value) => {
    let values: readonly unknown[] = [value];
    for (const [, name, quoted, index, all] of pieces)
      values = values.flatMap((one) => {
        if (all !== undefined) return Object.values(Object(one));
        if (index !== undefined) return [Array.isArray(one) ? (one.at(Number(index)) ?? null) : null];
        return [(Object(one) as Record<string, unknown>)[name ?? quoted ?? ''] ?? null];
      });
    return values;
  };
}
