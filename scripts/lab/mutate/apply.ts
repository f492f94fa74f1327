/** All changes of a file in one text, each behind a switch of its own: what is loaded once can be examined many times. */
import type { Mutant } from './mutants.ts';

export interface Numbered {
  readonly number: number;
  readonly mutant: Mutant;
}

const lengthOf = ({ mutant }: Numbered): number => mutant.whole[1] - mutant.whole[0];
const isInside = (one: Numbered, start: number, end: number): boolean =>
  one.mutant.whole[0] >= start && one.mutant.whole[1] <= end;

/** One place with the changes of it: whichever is switched on, or what stands there. */
function place(text: string, inner: string, same: readonly Numbered[]): string {
  const [first] = same;
  if (first === undefined) return inner;
  if (first.mutant.operator === 'statement') return `{ if (!$is(${first.number})) ${inner} }`;
  const expression = same.reduce((rest, { number, mutant }) => {
    const { whole, start, end, after } = mutant;
    return `($is(${number}) ? (${text.slice(whole[0], start)}${after}${text.slice(end, whole[1])}) : ${rest})`;
  }, `(${inner})`);
  return first.mutant.isKey ? `[${expression}]` : expression;
}

function rendered(text: string, start: number, end: number, mutants: readonly Numbered[]): string {
  let result = '';
  let at = start;
  for (let left = [...mutants]; left.length > 0; ) {
    const next = Math.min(...left.map(({ mutant }) => mutant.whole[0]));
    const [outer] = left.filter(({ mutant }) => mutant.whole[0] === next).sort((a, b) => lengthOf(b) - lengthOf(a));
    if (outer === undefined) break;
    const [from, to] = outer.mutant.whole;
    const here = left.filter((one) => isInside(one, from, to));
    const same = here.filter((one) => lengthOf(one) === to - from);
    const inner = rendered(
      text,
      from,
      to,
      here.filter((one) => !same.includes(one)),
    );
    result += text.slice(at, from) + place(text, inner, same);
    at = to;
    left = left.filter((one) => !here.includes(one));
  }
  return result + text.slice(at, end);
}

/** @param switchPath the module that knows which change is on. */
export const withSwitches = (text: string, mutants: readonly Numbered[], switchPath: string): string =>
  `${rendered(text, 0, text.length, mutants)}\nimport { isOn as $is } from '${switchPath}';\n`;
