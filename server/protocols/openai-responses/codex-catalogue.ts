/**
 * The list of models as Codex reads it (`GET /v1/models?client_version=…`), so that it knows windows, efforts and modalities
 * instead of guessing. Of OpenAI's names the figures are Codex's own (npm `@openai/codex`, Apache-2.0, `npm run knowledge`);
 * what needs a service of OpenAI's behind it (its lighter protocol, tools of its own) is left out, so that Codex asks
 * in the plain Responses API, which is served here for every model. That it may ask over a socket is said where the operator has them.
 * https://github.com/openai/codex/blob/main/codex-rs/protocol/src/openai_models.rs
 */
import { writesText } from '../../contract/agents.ts';
import type { Target } from '../target.ts';
import entries from './codex-models.json' with { type: 'json' };

type Entry = (typeof entries)[number];
const known: ReadonlyMap<string, Entry> = new Map(entries.map((entry) => [entry.slug, entry]));

/** Its own are up to 60 KB for each model, and it has to have some. */
const instructions = `You are a coding agent that works in the user's terminal and repository, together with the user.

- Read the files that matter before you change them, and follow AGENTS.md where there is one.
- Search with rg. Change files with apply_patch where you have it, and keep to the style of the code around.
- Fix causes, not symptoms. Change nothing that was not asked for, and never undo changes that you did not make.
- Run what proves your change: tests, type checks, the program itself. Say what you could not run.
- For a task of several steps keep a short plan, and go on until it is done.
- Answer briefly and plainly: what you did, where, and what is left.`;

/** What it takes for a window where nobody knows better: no model of today has less. */
const minWindow = 128_000;
/** Tokens of a tool's answer that stay in the conversation. */
const truncation = { mode: 'tokens', limit: 10_000 };
/** Behind those that Codex knows. */
const otherPriority = 100;

const effortNotes: Readonly<Record<string, string>> = {
  none: 'No reasoning',
  minimal: 'Hardly any reasoning',
  low: 'Fast responses with lighter reasoning',
  medium: 'Balances speed and reasoning depth for everyday tasks',
  high: 'Greater reasoning depth for complex problems',
  xhigh: 'Extra high reasoning depth for complex problems',
  max: 'Maximum reasoning depth for the hardest problems',
};

function effortsOf(words: readonly string[]) {
  const levels = words.filter((effort) => Object.hasOwn(effortNotes, effort));
  return {
    supported_reasoning_levels: levels.map((effort) => ({ effort, description: effortNotes[effort] })),
    ...(levels.length === 0 ? {} : { default_reasoning_level: levels.includes('medium') ? 'medium' : levels[0] }),
    supports_reasoning_summaries: levels.length > 0,
  };
}

const kept = {
  shell_type: 'shell_command',
  visibility: 'list',
  supported_in_api: true,
  experimental_supported_tools: [],
  base_instructions: instructions,
};

/** Whether Codex asks. */
export const isCodexList = (query: string): boolean => /(?:^|[?&])client_version=/.test(query);

/** @param target what is known of it where it is asked. @param hasSockets it may be asked over a socket. */
export function codexCard(
  id: string,
  { inputLimit, efforts, inputs }: Target,
  hasSockets = false,
): Record<string, unknown> {
  const socket = hasSockets ? { prefer_websockets: true } : {};
  const own = known.get(id);
  const window = Math.min(inputLimit ?? Number.POSITIVE_INFINITY, own?.context_window ?? inputLimit ?? minWindow);
  const takesPictures = inputs === null || inputs.includes('image');
  if (own !== undefined)
    return {
      ...own,
      ...kept,
      ...socket,
      // A name may be served by another model here.
      input_modalities: takesPictures ? own.input_modalities : ['text'],
      context_window: window,
      max_context_window: Math.max(window, Math.min(inputLimit ?? 0, own.max_context_window)),
      truncation_policy: truncation,
    };
  return {
    slug: id,
    display_name: id,
    description: '',
    ...kept,
    ...socket,
    ...effortsOf(efforts ?? []),
    priority: otherPriority,
    context_window: window,
    truncation_policy: truncation,
    support_verbosity: false,
    supports_parallel_tool_calls: true,
    input_modalities: takesPictures ? ['text', 'image'] : ['text'],
  };
}

export const codexList = (cards: readonly Record<string, unknown>[]): Record<string, unknown> => ({
  models: cards.filter(({ slug }) => writesText(String(slug))),
});
