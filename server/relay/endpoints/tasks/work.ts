/** How much work an order of drawings is: jobs that its prompt asks for, and the mode they run in. Source: docs.midjourney.com (Repeat, Permutations, Quality, GPU Speed). */
import { type TermRule, termRatio } from '../../../contract/pricing/modifiers.ts';
import type { Surcharge } from '../../../contract/pricing/price.ts';
import { list, record, text } from '../../../protocols/shared/json.ts';
import { valuesOf } from '../../../protocols/shared/member-name.ts';
import { maxTimes } from '../../../routing/multipliers.ts';
import type { Order } from '../../intake/parsed-request.ts';

/** Keyboards make one long dash of two. */
const dashes = '(?:--|[\u2012-\u2015])';
const repeated = new RegExp(`${dashes}(?:repeat|r)[\\s=:]{0,4}(\\d{1,9})`, 'gi');
const quality = new RegExp(`${dashes}(?:quality|q)[\\s=:]{0,4}(\\d{1,3}(?:\\.\\d{1,9})?)`, 'gi');
const turbo = new RegExp(`${dashes}turbo\\b`, 'i');
/** Words of a prompt that choose a mode. */
export const modeWords = new RegExp(`${dashes}(?:fast|relax|turbo)\\b`, 'gi');

/** No drawing is made. */
const withoutDrawing: ReadonlySet<string> = new Set(['DESCRIBE', 'SHORTEN', 'UPLOAD', 'SWAP_FACE']);
/** A turbo job takes twice the time on GPUs that a fast one takes, where no price says otherwise. */
const turboRatio = 2;

/** The largest number that a parameter names, one at least. */
function largest(prompt: string, parameter: RegExp): number {
  let most = 1;
  for (const [, number] of prompt.matchAll(parameter)) most = Math.max(most, Number(number));
  return Math.min(most, maxTimes);
}

/** Prompts that `{a, b}` makes of one: of groups side by side each with each. */
function permutationsIn(prompt: string): number {
  // Of each group that is open: options before the last comma, and what the one since then makes.
  const open: { options: number; last: number }[] = [];
  let all = 1;
  const multiply = (by: number) => {
    const outer = open.at(-1);
    if (outer === undefined) all = Math.min(all * by, maxTimes);
    else outer.last = Math.min(outer.last * by, maxTimes);
  };
  for (let at = 0; at < prompt.length; at++) {
    const sign = prompt[at];
    const group = open.at(-1);
    if (sign === '\\') at++;
    else if (sign === '{') open.push({ options: 0, last: 1 });
    else if (sign === ',' && group !== undefined) {
      group.options += group.last;
      group.last = 1;
    } else if (sign === '}' && group !== undefined) {
      open.pop();
      multiply(group.options + group.last);
    }
  }
  return all;
}

interface Drawn {
  readonly action: string;
  readonly model: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** The mode as the path names it. */
  readonly mode: string;
}

interface DrawingRules {
  readonly clearsMode: boolean;
  readonly keepAccountFilter: boolean;
}

/** @returns what of its price an order costs; undefined = once. */
export function workOf(
  { action, model, body, mode }: Drawn,
  { clearsMode, keepAccountFilter }: DrawingRules,
  rules: readonly TermRule[],
): Order['work'] {
  if (withoutDrawing.has(action)) return undefined;
  let jobs = 1;
  let isTurbo = mode === 'turbo';
  for (const prompt of valuesOf(body, 'prompt')) {
    if (typeof prompt !== 'string') continue;
    jobs = Math.max(jobs, largest(prompt, repeated) * largest(prompt, quality) * permutationsIn(prompt));
    isTurbo ||= !clearsMode && turbo.test(prompt);
  }
  if (keepAccountFilter)
    for (const filter of valuesOf(body, 'accountfilter'))
      for (const modes of valuesOf(record(filter) ?? {}, 'modes'))
        isTurbo ||= [modes, ...list(modes)].some((one) => text(one)?.toLowerCase() === 'turbo');
  if (jobs === 1 && !isTurbo) return undefined;
  const surcharges = isTurbo ? turboOf(model, rules) : none;
  return {
    ...(jobs === 1 ? {} : { priceFactor: Math.min(Math.round(jobs * 1e6) / 1e6, maxTimes) }),
    ...(surcharges.length === 0 ? {} : { surcharges }),
  };
}

const none: readonly Surcharge[] = [];

function turboOf(model: string, rules: readonly TermRule[]): readonly Surcharge[] {
  const ratio = termRatio(rules, [model], 'speed', 'turbo') ?? turboRatio;
  return ratio > 1 ? [{ name: 'speed:turbo', ratio }] : none;
}
