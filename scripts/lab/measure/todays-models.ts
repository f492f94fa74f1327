/**
 * Holds prices, windows and efforts of the models that people use today against the packages, read freshly from npm and PyPI:
 * `node scripts/launch.mjs lab/measure/todays-models [--from FOLDER]`. The models: those of the demands of November, Codex's own
 * list, and the names that Claude Code's program has. Prints one line a model and ends with 1 when a figure differs from
 * the packages without a decision.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { modelLimits } from '../../../server/contract/model-limits.ts';
import { defaultPriceTables } from '../../../server/contract/pricing/defaults.ts';
import { resolvePrices } from '../../../server/contract/pricing/tables.ts';
import { offeredOn } from '../../../server/providers/catalogue.ts';
import { type ModelFacts, unpackKnowledge } from '../../../server/providers/knowledge/facts.ts';
import { factsOfGenai, factsOfLitellm, packageProviders } from '../../../server/providers/knowledge/package-rows.ts';
import { targetFor } from '../../../server/providers/knowledge/target.ts';
import { fetchAll, type Read, read, run } from '../../knowledge.ts';

const root = resolve(import.meta.dirname, '../../..');

/** Maker -> names. */
const demanded: Readonly<Record<string, string>> = {
  openai:
    'gpt-6.2-sol gpt-6.2-astra gpt-6.1-sol gpt-6.1-terra gpt-6-astra gpt-6-sol gpt-6-luna gpt-5.6-sol gpt-5.6-terra gpt-5.6-luna gpt-5.5 gpt-daybreak-blue-latest gpt-daybreak-red-latest',
  anthropic:
    'claude-opus-5-5 claude-opus-5 claude-opus-4-8 claude-sonnet-5-5 claude-sonnet-5 claude-haiku-5-5 claude-fable-5-2 claude-fable-5-1 claude-fable-5',
  gemini: 'gemini-3.6-flash gemini-3.7-flash gemini-3.8-flash gemini-4-argon gemini-4-hydrogen',
  moonshot: 'kimi-k3',
  'zhipu-v4': 'glm-5.3',
  xai: 'grok-4.5 grok-4.6',
  ali: 'qwen3.8-max',
  deepseek: 'deepseek-v4-pro',
  minimax: 'MiniMax-M3',
};

/** What was decided by hand. */
const decided: Readonly<Record<string, string>> = {
  'claude-opus-4-1: not offered': 'LiteLLM has taken it out: one package keeps its price',
};

/** A name that its program has so often is one that it offers. */
const often = 30;

/** @returns names without a date that the program of Claude Code has. */
function claudeNames(cache: string): readonly string[] {
  const folder = join(cache, 'claude');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(join(folder, 'package', 'claude'))) {
    const version = run('npm', ['view', '@anthropic-ai/claude-code', 'version'], folder).trim();
    run('npm', ['pack', '--silent', `@anthropic-ai/claude-code-linux-x64@${version}`], folder);
    const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
    run('tar', ['-xzf', archive], folder);
  }
  const program = readFileSync(join(folder, 'package', 'claude'), 'latin1');
  const counts = new Map<string, number>();
  for (const [name] of program.matchAll(/claude-(?:opus|sonnet|haiku|fable)-\d(?:-\d)?(?![\d-])/g))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, times]) => times >= often).map(([name]) => name);
}

const near = (one: number, other: number): boolean => Math.abs(one - other) <= 1e-6 * Math.max(one, other, 1e-9) + 1e-6;

interface Line {
  readonly cells: readonly string[];
  readonly open: readonly string[];
}

function factsIn(
  data: Read,
  provider: string,
  model: string,
  today: string,
): readonly (readonly [string, Partial<ModelFacts>])[] {
  const { litellm = {}, genai = [] } = packageProviders[provider] ?? {};
  const found: (readonly [string, Partial<ModelFacts>])[] = [];
  for (const [name, row] of Object.entries(data.litellm)) {
    const prefix = litellm[String(row.litellm_provider)];
    if (prefix !== undefined && (name === model || name === `${prefix}${model}`)) {
      found.push(['litellm', factsOfLitellm(row)]);
      const match = data.matches[name];
      const second = genai.flatMap((id) => data.genai[id] ?? []).find(({ id }) => id === match);
      if (second !== undefined) found.push(['genai', factsOfGenai(second, today)]);
    }
  }
  if (!found.some(([source]) => source === 'genai')) {
    const own = genai.flatMap((id) => data.genai[id] ?? []).find(({ id }) => id === model);
    if (own !== undefined) found.push(['genai', factsOfGenai(own, today)]);
  }
  return found;
}

const words = (value: readonly (string | number | undefined)[]): string => value.map((one) => one ?? '–').join('/');

function lineOf(data: Read, provider: string, model: string, shipped: ModelFacts | undefined, today: string): Line {
  const prices = resolvePrices(defaultPriceTables(Date.parse(today)), model, { group: '', userGroup: '' });
  const open: string[] = [];
  if (prices === null) return { cells: [model, 'NO PRICE'], open: [`${model}: no price`] };
  const dollars = (ratio: number): number => Number((prices.modelRatio * 2 * ratio).toFixed(6));
  const ours = [
    dollars(1),
    dollars(prices.completionRatio),
    dollars(prices.cacheRatio),
    dollars(prices.cacheWriteRatio),
  ];
  const sources = factsIn(data, provider, model, today);
  const isDecided = shipped?.by === 'override' || shipped?.by === 'dearer';
  for (const [source, { price, longest_input: input, longest_answer: answer, window, dates }] of sources) {
    const theirs = [price?.input, price?.output, price?.cache_read, price?.write_5m];
    // A price of a day to come, which one package has already.
    const later = sources.some(([, facts]) => facts.dates !== undefined) || dates !== undefined;
    for (const [at, figure] of theirs.entries())
      if (figure !== undefined && !near(figure, ours[at] ?? 0) && !isDecided && !later)
        open.push(`${model}: ${source} has ${figure}, shipped is ${ours[at]}`);
    const limits = modelLimits(model);
    // An answer as long as the window is what a list says that does not know.
    if (answer !== undefined && answer < limits.context && answer < (input ?? window ?? 0) && answer > limits.output)
      open.push(`${model}: ${source} has answers of ${answer}, shipped is ${limits.output}`);
    if (Math.max(window ?? 0, input ?? 0) > limits.context)
      open.push(`${model}: ${source} has a window of ${window ?? input}, shipped is ${limits.context}`);
  }
  const codex = data.codex.find(({ slug }) => slug === model)?.supported_reasoning_levels.map(({ effort }) => effort);
  const { efforts, outputCap, inputLimit } = targetFor(provider, model);
  const published =
    codex?.filter((effort) => effort !== 'ultra') ??
    sources.find(([, facts]) => facts.efforts !== undefined)?.[1].efforts;
  const missing = published?.filter((effort) => efforts?.includes(effort) === false) ?? [];
  if (missing.length > 0) open.push(`${model}: ${missing.join(', ')} is refused here`);
  if (
    !(
      offeredOn(today)
        .find(({ slug }) => slug === provider)
        ?.models.includes(model) ?? false
    )
  )
    open.push(`${model}: not offered`);
  return {
    cells: [
      model,
      words(ours),
      ...['litellm', 'genai'].map((source) => {
        const price = sources.find(([name]) => name === source)?.[1].price;
        return price === undefined ? '–' : words([price.input, price.output, price.cache_read, price.write_5m]);
      }),
      words([inputLimit ?? undefined, shipped?.longest_input, outputCap ?? undefined]),
      efforts?.join(',') ?? '–',
      published?.join(',') ?? '–',
      shipped?.by ?? '–',
    ],
    open,
  };
}

const at = process.argv.indexOf('--from');
const cache = at < 0 ? join(root, '.cache', 'knowledge') : resolve(process.argv[at + 1] ?? '.');
if (at < 0) fetchAll(cache);
const data = read(cache);
const today = new Date().toISOString().slice(0, 10);
const { models } = unpackKnowledge(readFileSync(join(root, 'server/providers/knowledge/data/models.json'), 'utf8'));
const listed = data.codex.filter(({ visibility }) => visibility === 'list').map(({ slug }) => slug);
const claude = claudeNames(cache);
const names = new Map(Object.entries(demanded).map(([provider, text]) => [provider, new Set(text.split(' '))]));
for (const name of listed) names.get('openai')?.add(name);
for (const name of claude) names.get('anthropic')?.add(name);
console.log(
  'model | shipped input/output/read/write, $ per million | litellm | genai-prices | window/longest input/longest answer | efforts | published | decided by',
);
const open: string[] = [];
for (const [provider, own] of names)
  for (const model of own) {
    const line = lineOf(data, provider, model, models[provider]?.[model], today);
    console.log(line.cells.join(' | '));
    open.push(...line.open.filter((one) => decided[one] === undefined));
  }
for (const [what, reason] of Object.entries(decided)) console.log(`decided: ${what}: ${reason}`);
console.log(
  `${[...names.values()].reduce((sum, own) => sum + own.size, 0)} models, of them ${listed.length} of Codex's list and ${claude.length} of Claude Code's; ${open.length} open`,
);
for (const one of open) console.log(`OPEN ${one}`);
process.exit(open.length === 0 ? 0 : 1);
