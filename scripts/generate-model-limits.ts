/**
 * Writes server/contract/model-limits.json and model-modalities.json: views of the packages' data, and of
 * scripts/prices/model-limits.json for names that no package has. `limitsAreFresh` returns whether they are up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bareName } from '../server/contract/model-limits.ts';
import { type ModelFacts, unpackKnowledge } from '../server/providers/knowledge/facts.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'model-limits.json');
const data = join(root, 'server', 'providers', 'knowledge', 'data', 'models.json');

/** Longest answer, context window, 1 = may think first. */
type Row = readonly [output: number, context: number, thinks?: 1];
/** Their answers are counted with the encodings that the gateway has itself, and their thinking models refuse `max_tokens`. */
const ownEncoding = 'openai';

interface Limits {
  readonly output: number;
  readonly context: number;
  readonly thinks: boolean;
  readonly own: boolean;
}

const answering: ReadonlySet<string> = new Set(['chat', 'responses', 'completion', 'realtime']);

/** @returns null where the packages do not know how much it may read and write. */
function limitsOf(facts: ModelFacts, own: boolean): Limits | null {
  const { longest_answer: output, kind } = facts;
  const context = Math.max(facts.window ?? 0, facts.longest_input ?? 0);
  if (output === undefined || context === 0 || !answering.has(kind)) return null;
  const thinks = facts.can?.includes('reasoning') === true || facts.efforts !== undefined;
  return { output: Math.min(output, context), context, thinks, own };
}

/** Who makes models. All others serve what somebody else has made, often with less room. */
const makers: ReadonlySet<string> = new Set([
  ...['openai', 'anthropic', 'gemini', 'xai', 'deepseek', 'moonshot', 'zhipu-v4', 'minimax', 'ali', 'mistral'],
  ...['cohere', 'perplexity', 'jina', 'volcengine', 'tencent'],
]);

/**
 * A bound holds for a name wherever it is served, so one host's alone could be too low elsewhere: its maker has to have
 * published the name, or two hosts.
 */
function trusted(rows: readonly (readonly [provider: string, names: readonly string[]])[]): (name: string) => boolean {
  const hosts = new Map<string, number>();
  for (const [provider, names] of rows)
    for (const bare of new Set(names.map(bareName)))
      hosts.set(bare, (hosts.get(bare) ?? 0) + (makers.has(provider) ? 2 : 1));
  return (name) => (hosts.get(bareName(name)) ?? 0) >= 2;
}

/** @returns the text of model-limits.json: `output context flags` -> names; of several hosts' limits the largest. */
export function generateLimits(): string {
  const source = readFileSync(join(root, 'scripts', 'prices', 'model-limits.json'), 'utf8');
  const { _about, ...providers } = JSON.parse(source) as Record<string, Record<string, Row>>;
  const models = new Map<string, Limits>();
  const add = (name: string, { output, context, thinks, own }: Limits): void => {
    const known = models.get(bareName(name));
    models.set(bareName(name), {
      output: Math.max(known?.output ?? 0, Math.min(output, context)),
      context: Math.max(known?.context ?? 0, context),
      thinks: known?.thinks === true || thinks,
      own: known?.own === true || own,
    });
  };
  for (const [provider, rows] of Object.entries(providers))
    for (const [name, [output, context, thinks]] of Object.entries(rows))
      add(name, { output, context, thinks: thinks === 1, own: provider === ownEncoding });
  const before = new Set(models.keys());
  const published = Object.entries(unpackKnowledge(readFileSync(data, 'utf8')).models);
  const isTrusted = trusted(published.map(([provider, rows]) => [provider, Object.keys(rows)]));
  for (const [provider, rows] of published) {
    for (const [name, facts] of Object.entries(rows)) {
      const limits = limitsOf(facts, provider === ownEncoding);
      // A hand-kept row stays; what the packages have besides comes in.
      if (limits !== null && !before.has(bareName(name)) && isTrusted(name)) add(name, limits);
    }
  }
  const groups = new Map<string, string[]>();
  for (const [name, { output, context, thinks, own }] of [...models].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = `${output} ${context} ${thinks ? 'r' : ''}${own ? 'o' : ''}`.trim();
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  const lines = [...groups].map(([key, names]) => `  ${JSON.stringify(key)}: ${JSON.stringify(names.join(' '))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

export const limitsAreFresh = (): boolean => generateLimits() === readFileSync(target, 'utf8');
export const writeLimits = (): void => writeFileSync(target, generateLimits());

if (import.meta.main) writeLimits();
