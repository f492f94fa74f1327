/** What is asked in the playground: parameters, turns, and the request that follows from them. Pure. */
import { type NumberOptions, parseNumber } from '../../../server/contract/amount.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import type { ChatAnswer } from '../../lib/chat-stream.ts';

export type ModelSupport = OutputOf<EndpointOf<'model.takes'>>;

/** Numbers of a request, each by the name of the wire; `refusal` is what rows of models call it. */
export const numberRows = [
  { name: 'temperature', bounds: { min: 0, max: 2 }, step: 0.1, rest: 0, refusal: 'temperature' },
  { name: 'top_p', bounds: { min: 0, max: 1 }, step: 0.05, rest: 1, refusal: 'topP' },
  { name: 'presence_penalty', bounds: { min: -2, max: 2 }, step: 0.1, rest: 0, refusal: 'presencePenalty' },
  { name: 'frequency_penalty', bounds: { min: -2, max: 2 }, step: 0.1, rest: 0, refusal: 'frequencyPenalty' },
] as const;
export type NumberName = (typeof numberRows)[number]['name'];
/** 0 and nothing = the model decides. */
export const tokenBounds: NumberOptions = { integer: true, max: 100_000_000 };
export const seedBounds: NumberOptions = { integer: true, max: 2_147_483_647 };

/** As typed; '' = it is not sent. */
export interface Settings extends Readonly<Record<NumberName, string>> {
  readonly group: string;
  readonly system: string;
  readonly max_tokens: string;
  readonly seed: string;
  /** One a line. */
  readonly stop: string;
  readonly effort: string;
  readonly stream: boolean;
  readonly json: boolean;
  /** JSON: a list of tools as chat completions take it. */
  readonly tools: string;
  /** JSON: members of the request besides. */
  readonly extra: string;
}

export const defaultSettings: Settings = {
  ...{
    group: '',
    system: '',
    temperature: '0',
    max_tokens: '0',
    top_p: '',
    presence_penalty: '',
    frequency_penalty: '',
  },
  ...{ seed: '', stop: '', effort: '', stream: true, json: false, tools: '', extra: '' },
};

export interface Attachment {
  readonly name: string;
  readonly kind: 'image' | 'text' | 'file';
  /** A data URL, or the text itself; '' = it was too large to be kept over a reload. */
  readonly data: string;
}

export interface Answer extends ChatAnswer {
  readonly state: 'loading' | 'complete' | 'stopped' | 'error';
  readonly error: string;
  /** Quota, and the row of the log; null = not written yet. */
  readonly cost: number | null;
  readonly logId: number | null;
  /** What tools gave, by the call's id. */
  readonly results: Readonly<Record<string, string>>;
}

export interface Turn {
  readonly id: number;
  readonly text: string;
  readonly files: readonly Attachment[];
  /** By model place; several where tools were called in between. */
  readonly answers: readonly (readonly Answer[])[];
}

export const noAnswer: Answer = {
  ...{ text: '', thinking: '', calls: [], tokensIn: null, tokensOut: null, firstMs: null, ms: 0, requestId: '' },
  ...{ state: 'loading', error: '', cost: null, logId: null, results: {} },
};

type Message = Readonly<Record<string, unknown>>;

function contentOf({ text, files }: Pick<Turn, 'text' | 'files'>): unknown {
  const sent = files.filter(({ data }) => data !== '');
  if (sent.length === 0) return text;
  return [
    ...sent.map(({ kind, name, data }) =>
      kind === 'image'
        ? { type: 'image_url', image_url: { url: data } }
        : kind === 'text'
          ? { type: 'text', text: `${name}\n\`\`\`\n${data}\n\`\`\`` }
          : { type: 'file', file: { filename: name, file_data: data } },
    ),
    { type: 'text', text },
  ];
}

function answerMessages(answers: readonly Answer[]): Message[] {
  return answers.flatMap((answer): Message[] => {
    const { text, calls, results, state } = answer;
    if (state === 'loading' || (text === '' && calls.length === 0)) return [];
    // A call that was left without a result may not be sent.
    const done = calls.filter(({ id }) => results[id] !== undefined);
    if (done.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
    return [
      {
        role: 'assistant',
        content: text,
        tool_calls: done.map(({ id, name, arguments: given }) => ({
          ...{ id, type: 'function', function: { name, arguments: given } },
        })),
      },
      ...done.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: results[id] ?? '' })),
    ];
  });
}

/** What the model at a place has heard and said, without what failed. */
export const messagesOf = (turns: readonly Turn[], place: number, system: string): Message[] => [
  { role: 'system', content: system },
  ...turns.flatMap((turn, index): Message[] => {
    const answers = turn.answers[place] ?? [];
    const failed = answers.at(-1)?.state === 'error';
    // The question that is being asked now has no answer yet.
    return failed && index < turns.length - 1
      ? []
      : [{ role: 'user', content: contentOf(turn) }, ...answerMessages(answers)];
  }),
];

const listed = (text: string): unknown[] | null => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
};
const membersIn = (text: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
};

/** @returns the name of the first setting that cannot be read; null = all can. */
export function invalidSetting(settings: Settings): NumberName | 'maxTokens' | 'seed' | 'tools' | 'extra' | null {
  const { max_tokens: maxTokens, seed, tools, extra } = settings;
  const bad = (text: string, bounds: NumberOptions) =>
    text.trim() !== '' && parseNumber(text, bounds).kind === 'invalid';
  const number = numberRows.find(({ name, bounds }) => bad(settings[name], bounds));
  if (number !== undefined) return number.name;
  if (bad(maxTokens, tokenBounds)) return 'maxTokens';
  if (bad(seed, seedBounds)) return 'seed';
  if (tools.trim() !== '' && listed(tools) === null) return 'tools';
  if (extra.trim() !== '' && membersIn(extra) === null) return 'extra';
  return null;
}

const numberIn = (text: string, bounds: NumberOptions): number | undefined => {
  const read = parseNumber(text, bounds);
  return read.kind === 'value' ? read.value : undefined;
};

/** The request for one model: what it refuses is left out. @param takes undefined = not known yet. */
export function bodyOf(
  settings: Settings,
  model: string,
  messages: readonly Message[],
  takes: ModelSupport | undefined,
): Readonly<Record<string, unknown>> {
  const refused = new Set(takes?.refuses ?? []);
  const stops = settings.stop.split('\n').filter((line) => line !== '');
  const efforts = takes?.efforts ?? null;
  const effort = efforts === null || efforts.includes(settings.effort) ? settings.effort : '';
  const tools = settings.tools.trim() === '' ? null : listed(settings.tools);
  const body: Record<string, unknown> = { messages, stream: settings.stream, model, group: settings.group };
  body.max_tokens = numberIn(settings.max_tokens, tokenBounds) ?? 0;
  for (const { name, bounds, refusal } of numberRows)
    if (!refused.has(refusal)) body[name] = numberIn(settings[name], bounds);
  body.seed = numberIn(settings.seed, seedBounds);
  if (stops.length > 0 && !refused.has('stop')) body.stop = stops;
  if (effort !== '') body.reasoning_effort = effort;
  if (settings.json) body.response_format = { type: 'json_object' };
  if (tools !== null && tools.length > 0) body.tools = tools;
  if (settings.stream) body.stream_options = { include_usage: true };
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  return { ...given, ...(settings.extra.trim() === '' ? {} : membersIn(settings.extra)) };
}

/** Output tokens a second of what was streamed, without the wait for the first. @returns null where there is too little to say. */
export function speedOf({ tokensOut, firstMs, ms }: ChatAnswer): number | null {
  if (tokensOut === null || firstMs === null || ms - firstMs < 50) return null;
  return (tokensOut * 1000) / (ms - firstMs);
}

const quoted = (body: object): string => JSON.stringify(body, null, 2);

/** The request as code, for a key of one's own. */
export const codeOf = (origin: string, asked: Readonly<Record<string, unknown>>) => {
  const { group: _group, max_tokens: maxTokens, ...rest } = asked;
  const body = { ...rest, ...(maxTokens === 0 ? {} : { max_tokens: maxTokens }) };
  const { stream } = body as { readonly stream?: boolean };
  const python = quoted(body)
    .replace(/: true\b/g, ': True')
    .replace(/: false\b/g, ': False')
    .replace(/: null\b/g, ': None');
  return {
    curl: `curl ${origin}/v1/chat/completions \\\n  -H "Authorization: Bearer $GATEWAY_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '${quoted(body).replaceAll("'", "'\\''")}'`,
    python: `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1", api_key=os.environ["GATEWAY_KEY"])\nanswer = client.chat.completions.create(**${python})\n${stream ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="", flush=True)' : 'print(answer.choices[0].message.content)'}`,
    node: `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.GATEWAY_KEY });\nconst answer = await client.chat.completions.create(${quoted(body)});\n${stream ? "for await (const chunk of answer) process.stdout.write(chunk.choices[0]?.delta.content ?? '');" : 'console.log(answer.choices[0].message.content);'}`,
  };
};
