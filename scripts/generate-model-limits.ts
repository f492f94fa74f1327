/**
 * Writes server/contract/model-limits.json and model-modalities.json: views of the packages' data, and of
 * scripts/prices/model-limits.json for names that no package has. `limitsAreFresh` returns whether they are up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bareName } from '../server/contract/model-limits.ts';
import { providerBySlug } from '../server/providers/catalogue.ts';
import { type ModelFacts, unpackKnowledge } from '../server/providers/knowledge/facts.ts';

const root = resolve(import.meta.dirname, '..');
const target = join(root, 'server', 'contract', 'model-limits.json');
const modalities = join(root, 'server', 'contract', 'model-modalities.json');
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
  /** The packages have it. */
  readonly published: boolean;
}

const answering: ReadonlySet<string> = new Set(['chat', 'responses', 'completion', 'realtime']);

/** @returns null where the packages do not know how much it may read and write. */
function limitsOf(facts: ModelFacts, own: boolean): Limits | null {
  const { longest_answer: output, kind } = facts;
  const context = Math.max(facts.window ?? 0, facts.longest_input ?? 0);
  if (output === undefined || context === 0 || !answering.has(kind)) return null;
  const thinks = facts.can?.includes('reasoning') === true || facts.efforts !== undefined;
  return { output: Math.min(output, context), context, thinks, own, published: true };
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

/** Providers of the list by hand that we have under another name. What is not here and no provider of ours counts for nobody. */
const slugOf: Readonly<Record<string, string>> = {
  google: 'gemini',
  'google-vertex': 'vertex',
  'google-vertex-anthropic': 'vertex',
  alibaba: 'ali',
  'alibaba-cn': 'ali',
  moonshotai: 'moonshot',
  'moonshotai-cn': 'moonshot',
  zai: 'zhipu-v4',
  zhipuai: 'zhipu-v4',
  'minimax-cn': 'minimax',
  'amazon-bedrock': 'aws',
  togetherai: 'together',
  'fireworks-ai': 'fireworks',
  'cloudflare-workers-ai': 'cloudflare',
  'siliconflow-cn': 'siliconflow',
};

/** What is said of each name. */
class Table {
  private readonly said = new Map<string, Limits[]>();

  add(name: string, limits: Limits): void {
    this.said.set(bareName(name), [...this.of(name), limits]);
  }

  of(name: string): readonly Limits[] {
    return this.said.get(bareName(name)) ?? [];
  }

  /** A name is served anywhere, and what it may cost at most is held: of several limits the largest. */
  private largest(name: string): Limits {
    const all = this.of(name);
    return {
      output: Math.max(...all.map((one) => one.output)),
      context: Math.max(...all.map((one) => one.context)),
      thinks: all.some(({ thinks }) => thinks),
      own: all.some(({ own }) => own),
      published: all.some(({ published }) => published),
    };
  }

  text(): string {
    const groups = new Map<string, string[]>();
    for (const name of [...this.said.keys()].sort((a, b) => (a < b ? -1 : 1))) {
      const { output, context, thinks, own, published } = this.largest(name);
      const flags = `${thinks ? 'r' : ''}${own ? 'o' : ''}${published ? 'p' : ''}`;
      const key = `${output} ${context} ${flags}`.trim();
      groups.set(key, [...(groups.get(key) ?? []), name]);
    }
    const lines = [...groups].map(([key, names]) => `  ${JSON.stringify(key)}: ${JSON.stringify(names.join(' '))}`);
    return `{\n${lines.join(',\n')}\n}\n`;
  }
}

const knowledge = () => unpackKnowledge(readFileSync(data, 'utf8')).models;

/** @returns the text of model-limits.json: `output context flags` -> names. */
export function generateLimits(): string {
  const source = readFileSync(join(root, 'scripts', 'prices', 'model-limits.json'), 'utf8');
  const { _about, ...providers } = JSON.parse(source) as Record<string, Record<string, Row>>;
  const models = knowledge();
  const published = Object.entries(models);
  const isTrusted = trusted(published.map(([provider, rows]) => [provider, Object.keys(rows)]));
  const table = new Table();
  for (const [provider, rows] of published)
    for (const [name, facts] of Object.entries(rows)) {
      const limits = limitsOf(facts, provider === ownEncoding);
      if (limits !== null && isTrusted(name)) table.add(name, limits);
    }
  for (const [provider, rows] of Object.entries(providers)) {
    const slug = slugOf[provider] ?? provider;
    // Whoever is no provider of ours says nothing more of a name that the packages bound.
    const isHeard = providerBySlug(slug) !== undefined;
    for (const [name, [output, context, thinks]] of Object.entries(rows)) {
      if (!isHeard && table.of(name).some(({ published }) => published)) continue;
      table.add(name, {
        output: Math.min(output, context),
        context,
        thinks: thinks === 1,
        own: provider === ownEncoding,
        published: false,
      });
    }
  }
  return table.text();
}

const modalityNames = ['text', 'image', 'audio', 'video', 'file'];

/** @returns the text of model-modalities.json: what models take -> names. Makers' rows go before hosts', the packages before the list by hand. */
export function generateModalities(): string {
  const models = knowledge();
  const taken = new Map<string, ReadonlySet<string>>();
  const rank = (provider: string): number => (makers.has(provider) ? 0 : 1);
  const rows = Object.entries(models).sort(([a], [b]) => rank(a) - rank(b));
  const isTrusted = trusted(rows.map(([provider, own]) => [provider, Object.keys(own)]));
  for (const [, own] of rows)
    for (const [name, { takes }] of Object.entries(own)) {
      const bare = bareName(name);
      // Words alone are what a list says that knows nothing of the rest.
      if (takes !== undefined && takes.length > 1 && !taken.has(bare) && isTrusted(name))
        taken.set(bare, new Set(takes));
    }
  const byHand = JSON.parse(readFileSync(join(root, 'scripts', 'prices', 'model-modalities.json'), 'utf8')) as Record<
    string,
    string
  >;
  for (const [kinds, names] of Object.entries(byHand))
    for (const name of names.split(' ')) if (!taken.has(name)) taken.set(name, new Set(kinds.split(' ')));
  const groups = new Map<string, string[]>();
  for (const [name, kinds] of [...taken].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = modalityNames.filter((kind) => kinds.has(kind)).join(' ');
    // Words alone are what a known model takes.
    if (key !== 'text' && key !== '') groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  const lines = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, names]) => `  ${JSON.stringify(key)}: ${JSON.stringify(names.join(' '))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

export const limitsAreFresh = (): boolean =>
  generateLimits() === readFileSync(target, 'utf8') && generateModalities() === readFileSync(modalities, 'utf8');

export function writeLimits(): void {
  writeFileSync(target, generateLimits());
  writeFileSync(modalities, generateModalities());
}

if (import.meta.main) writeLimits();
