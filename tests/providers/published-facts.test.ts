/** What the rows say of models is held against what the packages publish, model by model; where they differ it was decided, and stands here with its reason. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type ModelFacts, unpackKnowledge } from '../../server/providers/knowledge/facts.ts';
import { targetFor } from '../../server/providers/knowledge/target.ts';

const { date, models } = unpackKnowledge(readFileSync('server/providers/knowledge/data/models.json', 'utf8'));

type Fact = 'efforts' | 'thinking' | 'forced tools' | 'prefill' | 'sampling' | 'tools' | 'schemas' | 'inputs';

/** Where the row stays, and why. */
const decided: readonly (readonly [places: RegExp, facts: readonly Fact[], reason: string])[] = [
  [/^(?:openai|azure)\/gpt-5/, ['efforts'], 'the words were read off the API’s own refusals'],
  [/^azure\/gpt-6/, ['efforts'], 'the words were read off the API’s own refusals'],
  [/^azure\/claude/, ['efforts'], 'models of other makers have addresses of their own there'],
  [/^azure\/o1-mini/, ['tools'], 'its documents say that it has none'],
  [/^aws\/.*kimi-k3/, ['efforts'], 'Converse has no word for effort'],
  [/^aws\/anthropic\.claude-mythos-preview/, ['inputs'], 'a preview that is over'],
  [/^(?:gemini|vertex)\/lyria/, ['tools', 'schemas'], 'it makes music, and nobody offers it tools'],
  [/^gemini\/gemini-(?:exp|gemma)/, ['inputs'], 'names that are gone'],
  [
    /^vertex\/gemini-(?:omni|robotics)/,
    ['inputs', 'tools', 'schemas'],
    'the maker’s own endpoint says more of the same models',
  ],
  [
    /^(?:gemini|vertex)\/gemini-3\.[5-8]-flash/,
    ['sampling'],
    'the API takes them and does not heed them, and its maker’s own program sends them: ai.google.dev/gemini-api/docs/whats-new-gemini-3.6',
  ],
  [/^aws\/qwen/, ['thinking'], 'Converse has no word for it'],
  [/^fireworks\/.*qwen3-coder/, ['thinking'], 'its maker says that it does not think'],
  [/^xai\/.*-beta-/, ['tools'], 'a beta of what is sold without'],
  [/^deepseek\/deepseek-(?:flash|v4-flash)$/, ['inputs'], 'the document of its endpoint has no pictures'],
];

const sorted = (words: readonly string[]): string => words.toSorted().join(' ');

/** @returns what the row of a model says otherwise. */
function differences(provider: string, model: string, facts: ModelFacts): readonly Fact[] {
  const target = targetFor(provider, model);
  const [can, cannot] = [new Set(facts.can), new Set(facts.cannot)];
  const { efforts, unsupported, inputs } = target;
  const found: Fact[] = [];
  const refuses = (ability: string, parameter: Parameters<typeof unsupported.has>[0], fact: Fact, both = false) => {
    if (cannot.has(ability) && !unsupported.has(parameter)) found.push(fact);
    if (both && can.has(ability) && unsupported.has(parameter)) found.push(fact);
  };
  const isWord = target.thinking === 'effort' || efforts !== null;
  if (facts.efforts !== undefined && isWord && sorted(facts.efforts) !== sorted(efforts ?? [])) found.push('efforts');
  if (can.has('reasoning') && target.thinking === 'none') found.push('thinking');
  if (can.has('always_thinks') && !target.thinkingRequired) found.push('thinking');
  refuses('forced_tool', 'forcedToolChoice', 'forced tools', true);
  refuses('prefill', 'prefill', 'prefill', true);
  refuses('sampling', 'temperature', 'sampling');
  refuses('tools', 'tools', 'tools', true);
  refuses('schema', 'schemaFormat', 'schemas');
  const taken = (facts.takes ?? []).filter((kind) => kind !== 'text').map((kind) => (kind === 'file' ? 'pdf' : kind));
  if (inputs !== null && sorted(taken) !== sorted(inputs)) found.push('inputs');
  return found;
}

const isServed = ({ kind, takes, retired = '9999' }: ModelFacts): boolean =>
  (kind === 'chat' || kind === 'responses') && takes !== undefined && retired > date;

test('rows of models say what the packages publish, or it was decided otherwise', () => {
  let compared = 0;
  const open: string[] = [];
  const used = new Set<RegExp>();
  for (const [provider, rows] of Object.entries(models))
    for (const [model, facts] of Object.entries(rows)) {
      if (!isServed(facts)) continue;
      compared++;
      for (const fact of differences(provider, model, facts)) {
        const decision = decided.find(([places, own]) => places.test(`${provider}/${model}`) && own.includes(fact));
        if (decision === undefined) open.push(`${provider}/${model}: ${fact}`);
        else used.add(decision[0]);
      }
    }
  expect(compared).toBeGreaterThan(500);
  expect(open).toEqual([]);
  expect(decided.filter(([places]) => !used.has(places)).map(([places]) => places.source)).toEqual([]);
});
