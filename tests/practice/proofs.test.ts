/** The doubles of the providers that agents are used with, rule by rule. */
import { expect, test } from 'vitest';
import { type Place, proofs } from '../doubles/proofs.ts';
import { createDouble, type Exchange } from '../doubles/serve.ts';
import { doubles } from '../doubles/table.ts';

const played =
  'openai anthropic bedrock gemini vllm lm-studio ollama minimax fireworks xai groq openrouter deepseek'.split(' ');

const now = () => Date.parse('2026-11-01T00:00:00Z');

/** @returns the rule that turned it down, with the status; null = it was answered. */
async function ask(place: Place, more: object, headers = place.headers): Promise<readonly [string, number] | null> {
  const double = doubles.find(({ name }) => name === place.double);
  if (double === undefined) throw new Error(place.double);
  const seen: Exchange[] = [];
  const running = createDouble(double, { now, onExchange: (exchange) => void seen.push(exchange) });
  const request = new Request(`http://${place.double}.test${place.path}`, {
    method: 'POST',
    headers: headers ?? {},
    body: JSON.stringify({ ...place.base, ...more }),
  });
  const { status } = await running.handle(request);
  const rejected = seen[0]?.rejected;
  if (rejected === undefined) return ['nobody heard it', status];
  return rejected === null ? null : [rejected.rule, status];
}

test.each(proofs.map((proof) => [proof.rule, proof] as const))(
  '%s refuses what its source says, and nothing beside it',
  async (rule, { place, breaks, passes, headers, instead }) => {
    const refused = await ask(place, breaks, headers);
    expect(refused?.[0]).toBe(rule);
    expect(refused?.[1]).toBeGreaterThanOrEqual(400);
    const good = instead === undefined ? place : { ...place, path: place.path.replace(place.model, instead) };
    const model = instead === undefined || !('model' in place.base) ? {} : { model: instead };
    expect(await ask(good, { ...passes, ...model })).toBeNull();
  },
);

test('every rule of thirteen doubles has a request that breaks it', () => {
  const rules = doubles
    .filter(({ name }) => played.includes(name))
    .flatMap(({ doors }) => doors.flatMap((door) => door.rules.map(({ id }) => id)));
  const proven = new Set(proofs.map(({ rule }) => rule));
  expect([...new Set(rules)].filter((id) => !proven.has(id))).toEqual([]);
  expect(played.filter((name) => !doubles.some((double) => double.name === name))).toEqual([]);
});
