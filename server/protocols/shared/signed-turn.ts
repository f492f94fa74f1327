/** Whether a request goes on within a turn whose thoughts its model has signed: only that model takes them back. */
import { record } from './json.ts';

type Members = Readonly<Record<string, unknown>>;

const itemsOf = (value: unknown): readonly Members[] =>
  Array.isArray(value) ? value.map(record).filter((one): one is Members => one !== null) : [];

const isFilled = (value: unknown): boolean => typeof value === 'string' && value !== '';

/** Results of tools are the model's own turn going on; whatever else a user sends begins a new one. */
const resultTypes: ReadonlySet<unknown> = new Set(['tool_result', 'function_call_output', 'custom_tool_call_output']);

const isResult = (part: Members): boolean =>
  resultTypes.has(part.type) || 'functionResponse' in part || 'function_response' in part;

/** Messages, contents and items: a part that bears a seal, in any spelling that a dialect has for it. */
function isSigned(part: Members): boolean {
  if (part.type === 'redacted_thinking') return isFilled(part.data);
  const { signature, thoughtSignature, thought_signature: plain, encrypted_content: sealed } = part;
  if (isFilled(signature) || isFilled(thoughtSignature) || isFilled(plain)) return true;
  if (part.type === 'reasoning') return isFilled(sealed);
  const google = record(record(part.extra_content)?.google);
  return isFilled(google?.thought_signature);
}

const partsOf = (turn: Members): readonly Members[] => {
  const parts = [...itemsOf(turn.content), ...itemsOf(turn.parts), ...itemsOf(turn.tool_calls)];
  return [...parts, ...itemsOf(turn.reasoning_details)];
};

const isCaller = ({ role }: Members): boolean => role === 'user' || role === 'system' || role === 'developer';

/** What the caller says itself, beside results of tools. */
function beginsTurn(turn: Members): boolean {
  if (!isCaller(turn)) return false;
  if (typeof turn.content === 'string') return true;
  const parts = partsOf(turn);
  return parts.length === 0 || !parts.some(isResult);
}

/** @param body of a request in any dialect. */
export function isInSignedTurn(body: Members): boolean {
  const turns = itemsOf(body.messages ?? body.contents ?? body.input);
  for (let at = turns.length - 1; at >= 0; at--) {
    const turn = turns[at];
    if (turn === undefined || beginsTurn(turn)) return false;
    if (isSigned(turn) || (!isCaller(turn) && partsOf(turn).some(isSigned))) return true;
  }
  return false;
}
