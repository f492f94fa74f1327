/**
 * Rebuilds server/providers/knowledge/data/models.json, and the views of it that are shipped, from packages that pip and npm
 * fetch: `node scripts/launch.mjs knowledge`. Needs Python with pip and npm, on a developer's machine only.
 * `--from FOLDER` reads what an earlier run has fetched.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type Knowledge, type ModelFacts, packKnowledge } from '../server/providers/knowledge/facts.ts';
import {
  type Facts,
  factsOfGenai,
  factsOfLitellm,
  isPictureSize,
  packageProviders,
} from '../server/providers/knowledge/package-rows.ts';
import { writeLimits } from './generate-model-limits.ts';
import { writeLists } from './generate-model-lists.ts';
import { writePricing } from './generate-pricing.ts';
import { type Disagreement, Merge, type Override } from './knowledge/merge.ts';
import overrides from './knowledge/overrides.json' with { type: 'json' };

const root = resolve(import.meta.dirname, '..');
const folder = join(root, 'server', 'providers', 'knowledge', 'data');
const target = join(folder, 'models.json');
const codexTarget = join(root, 'server/protocols/openai-responses/codex-models.json');
/** What the executable may carry of it, packed. */
const mostPacked = 120 * 1024;

/** Each as its package says it; all are among the notices that travel in the executable. */
const licences = { litellm: 'MIT', 'genai-prices': 'MIT', '@openai/codex': 'Apache-2.0' } as const;

export interface Read {
  readonly versions: Readonly<Record<string, string>>;
  readonly litellm: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly genai: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  readonly matches: Readonly<Record<string, string>>;
  readonly codex: readonly {
    readonly slug: string;
    readonly input_modalities: readonly string[];
    readonly supported_reasoning_levels: readonly { readonly effort: string }[];
    readonly visibility: string;
  }[];
}

export const run = (command: string, args: readonly string[], cwd: string): string =>
  execFileSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'inherit'] });

/** @returns the newest version of codex for this machine; the list of models is the same in all of them. */
export function fetchAll(cache: string): string {
  mkdirSync(cache, { recursive: true });
  const python = join(cache, 'python', 'bin', 'python');
  if (!existsSync(python)) run('python3', ['-m', 'venv', join(cache, 'python')], cache);
  run(python, ['-m', 'pip', 'install', '--quiet', '--upgrade', 'genai-prices'], cache);
  run(python, ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', cache, 'litellm'], cache);
  const version = run('npm', ['view', '@openai/codex', 'version'], cache).trim();
  run('npm', ['pack', '--silent', `@openai/codex@${version}-linux-x64`], cache);
  run('tar', ['-xzf', `openai-codex-${version}-linux-x64.tgz`], cache);
  return version;
}

const versionIn = (cache: string): string =>
  readdirSync(cache)
    .map((name) => /^openai-codex-(.+)-linux-x64\.tgz$/.exec(name)?.[1])
    .find((version) => version !== undefined) ?? '';

export function read(cache: string): Read {
  const pairs = Object.fromEntries(
    Object.values(packageProviders).flatMap(({ litellm, genai = [] }) =>
      Object.entries(litellm).map(([name, prefix]) => [name, [genai[0] ?? null, prefix]]),
    ),
  );
  const script = join(root, 'scripts', 'knowledge', 'read.py');
  return JSON.parse(run(join(cache, 'python', 'bin', 'python'), [script, cache, JSON.stringify(pairs)], cache)) as Read;
}

/** Lower case where the maker's API has it so; the packages write some names as a person would. */
const apiName = (provider: string, id: string): string => (provider === 'zhipu-v4' ? id.toLowerCase() : id);

interface Built {
  readonly knowledge: Knowledge;
  readonly disagreements: readonly Disagreement[];
}

/** @param today `2026-11-28`. */
export function build(data: Read, codexVersion: string, today: string): Built {
  const disagreements: Disagreement[] = [];
  const models: Record<string, Record<string, ModelFacts>> = {};
  for (const [provider, { litellm, genai = [], only = /^/ }] of Object.entries(packageProviders)) {
    const own: Record<string, ModelFacts> = {};
    const second = new Map(
      genai.flatMap((id) => data.genai[id] ?? []).map((model) => [String(model.id), factsOfGenai(model, today)]),
    );
    const used = new Set<string>();
    for (const [name, row] of Object.entries(data.litellm)) {
      const prefix = litellm[String(row.litellm_provider)];
      if (prefix === undefined) continue;
      const bare = name.startsWith(prefix) ? name.slice(prefix.length) : name;
      if (!only.test(bare) || bare in own || isPictureSize(bare)) continue;
      const match = data.matches[name];
      if (match !== undefined) used.add(match);
      const merge = new Merge(provider, bare);
      own[bare] = merge.facts(factsOfLitellm(row), match === undefined ? undefined : second.get(match));
      disagreements.push(...merge.disagreements);
    }
    for (const [id, facts] of second) {
      const name = apiName(provider, id);
      if (used.has(id) || name in own || !only.test(name) || facts.price === undefined) continue;
      own[name] = { ...facts, by: 'single' };
    }
    models[provider] = own;
  }
  withCodex(models.openai ?? {}, data);
  withOverrides(models);
  const sources = Object.entries(licences).map(([name, licence]) => ({
    name,
    version: name === '@openai/codex' ? codexVersion : (data.versions[name] ?? ''),
    licence,
  }));
  const sorted = Object.fromEntries(
    Object.entries(models).map(([provider, rows]) => [
      provider,
      Object.fromEntries(Object.entries(rows).sort(([a], [b]) => (a < b ? -1 : 1))),
    ]),
  );
  const inForce = disagreements.filter(({ provider, model }) => models[provider]?.[model]?.by !== 'override');
  return { knowledge: { date: today, sources, models: sorted }, disagreements: inForce };
}

/** Efforts that only the program itself knows. */
const ownEfforts = new Set(['ultra']);

function withCodex(own: Record<string, ModelFacts>, { codex }: Read): void {
  for (const { slug, input_modalities: takes, supported_reasoning_levels: levels } of codex) {
    const known = own[slug];
    if (known === undefined) continue;
    const efforts = levels.map(({ effort }) => effort).filter((effort) => !ownEfforts.has(effort));
    own[slug] = { takes, ...known, efforts: known.efforts ?? efforts };
  }
}

/** What our list for Codex says of its own models; instructions, plans and tools of OpenAI's services stay where they are. */
const codexMembers = [
  'slug',
  'display_name',
  'description',
  'default_reasoning_level',
  'supported_reasoning_levels',
  'supports_reasoning_summaries',
  'default_reasoning_summary',
  'support_verbosity',
  'default_verbosity',
  'apply_patch_tool_type',
  'supports_parallel_tool_calls',
  'priority',
  'context_window',
  'max_context_window',
  'input_modalities',
];

export const codexEntries = ({ codex }: Pick<Read, 'codex'>): readonly Readonly<Record<string, unknown>>[] =>
  codex
    .filter(({ visibility }) => visibility === 'list')
    .map((entry) => {
      const facts = { ...entry, supported_reasoning_levels: entry.supported_reasoning_levels.filter(isPlainEffort) };
      return Object.fromEntries(
        Object.entries(facts)
          .filter(([name]) => codexMembers.includes(name))
          .sort(([a], [b]) => codexMembers.indexOf(a) - codexMembers.indexOf(b)),
      );
    });
const isPlainEffort = ({ effort }: { readonly effort: string }): boolean => !ownEfforts.has(effort);

function withOverrides(models: Record<string, Record<string, ModelFacts>>): void {
  for (const { provider, models: names, set } of overrides as unknown as readonly Override[])
    for (const name of names) {
      const rows = models[provider] ?? {};
      models[provider] = rows;
      rows[name] = { ...rows[name], ...(set as Facts), by: 'override' };
    }
}

if (import.meta.main) {
  const at = process.argv.indexOf('--from');
  const cache = at < 0 ? join(root, '.cache', 'knowledge') : resolve(process.argv[at + 1] ?? '.');
  const version = at < 0 ? fetchAll(cache) : versionIn(cache);
  const data = read(cache);
  const { knowledge, disagreements } = build(data, version, new Date().toISOString().slice(0, 10));
  const text = packKnowledge(knowledge);
  const packed = gzipSync(text, { level: 9 }).length;
  for (const { provider, model, figure, first, second } of disagreements)
    console.log(`${provider}/${model} ${figure}: ${first} or ${second}, the dearer holds`);
  const counts = Object.entries(knowledge.models).map(([name, rows]) => `${name} ${Object.keys(rows).length}`);
  console.log(`${counts.join(', ')}\n${text.length} bytes, packed ${packed}`);
  if (packed > mostPacked) throw new Error(`packed it is larger than ${mostPacked} bytes`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(target, text);
  writeFileSync(codexTarget, `${JSON.stringify(codexEntries(data), null, 2)}\n`);
  writeLimits();
  // Prices are those of the names in the lists.
  writeLists();
  writePricing();
}
