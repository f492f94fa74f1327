/** What a cloud that hosts Anthropic's models takes of their features. */
import type { Dropped } from '../../protocols/codec.ts';
import { list, record, text } from '../../protocols/shared/json.ts';
import type { BetaRow, GateRow } from '../knowledge/beta-headers.ts';

type Members = Record<string, unknown>;

/** @param header names in the client's own header. @returns what they are called here. */
export function betasFor(rows: readonly BetaRow[], header: string, model: string): string[] {
  const requested = new Set(header.split(',').map((name) => name.trim()));
  const taken = rows.filter(({ beta, models }) => requested.has(beta) && models.test(model));
  return [...new Set(taken.map(({ beta, called }) => called ?? beta))];
}

/** @returns a copy without the member, null when it is not there. */
function without(value: unknown, path: readonly string[], only: RegExp | undefined): unknown | null {
  const [name = '', ...rest] = path;
  if (name === '*') {
    if (!Array.isArray(value)) return null;
    const kept = value.map((item) => without(item, rest, only));
    return kept.every((item) => item === null) ? null : kept.map((item, index) => item ?? list(value)[index]);
  }
  const object = record(value);
  if (object === null || object[name] === undefined) return null;
  const { [name]: inner, ...others } = object;
  if (rest.length > 0) {
    const kept = without(inner, rest, only);
    if (kept === null) return null;
    // What is left of an object that had nothing else is nothing.
    return Object.keys(record(kept) ?? { list: 1 }).length === 0 ? others : { ...object, [name]: kept };
  }
  return only === undefined || only.test(text(inner) ?? '') ? others : null;
}

const isOpen = ({ beta, models }: GateRow, betas: readonly string[], model: string): boolean =>
  (beta !== undefined && betas.includes(beta)) || models?.test(model) === true;

/** @returns the body without the members whose feature is not on. */
export function gated(
  input: Members,
  {
    gates,
    betas,
    model,
  }: { readonly gates: readonly GateRow[]; readonly betas: readonly string[]; readonly model: string },
  dropped: Dropped,
): Members {
  let body = input;
  for (const gate of gates) {
    if (isOpen(gate, betas, model)) continue;
    const kept = record(without(body, gate.member.split('.'), gate.value));
    if (kept === null) continue;
    body = kept;
    dropped.push(`/${gate.member.replaceAll('.', '/')}: not known to the upstream for this model`);
  }
  return body;
}
