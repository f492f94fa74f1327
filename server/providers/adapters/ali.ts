/** Alibaba's DashScope: chat and plain embeddings in OpenAI's form; ranking, pictures and mixed embeddings in its own, pictures as work to be asked after. */
import { number, present, record, records, text } from '../../protocols/shared/json.ts';
import { type Adapter, type CustomForm, type Requested, within } from '../adapter.ts';
import { embeddingList } from '../forms/embedding-list.ts';
import { imageError, imageList, promptOf, sizeOf } from '../forms/image-list.ts';
import { documentTexts, rankedList } from '../forms/rerank-list.ts';

type Item = Record<string, unknown>;

const waitMs = 1000;

const rerank: CustomForm = {
  encode: (requested, model) => ({
    model,
    input: { query: requested.body.query, documents: documentTexts(requested) },
    parameters: present({ top_n: requested.body.top_n, return_documents: false }),
  }),
  decode(answer, requested) {
    const body = record(answer) ?? {};
    const tokens = number(record(body.usage)?.total_tokens);
    return rankedList({ id: body.request_id, results: record(body.output)?.results }, requested, tokens);
  },
};

/** Texts as texts, everything else (`{image}`, `{text}`, `{video}`) as it was given. */
const contentsOf = ({ body }: Requested): unknown[] =>
  (Array.isArray(body.input) ? body.input : [body.input]).map((one) => (typeof one === 'string' ? { text: one } : one));

const mixedEmbeddings: CustomForm = {
  path: '/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding',
  encode: (requested, model) => {
    const parameters = present({ dimension: requested.body.dimensions });
    const more = Object.keys(parameters).length === 0 ? {} : { parameters };
    return { model, input: { contents: contentsOf(requested) }, ...more };
  },
  decode(answer, requested) {
    const body = record(answer) ?? {};
    const usage = record(body.usage);
    const entries = records(record(body.output)?.embeddings).toSorted((a, b) => Number(a.index) - Number(b.index));
    const tokens = number(usage?.total_tokens) ?? number(usage?.input_tokens);
    return embeddingList(
      entries.map(({ embedding }) => embedding),
      requested,
      tokens,
    );
  },
};

const parametersOf = (requested: Requested): Item => {
  const size = sizeOf(requested);
  const { n, seed, prompt_extend, watermark } = requested.body;
  return present({
    n,
    size: size === null ? undefined : `${size.width}*${size.height}`,
    seed,
    prompt_extend,
    watermark,
  });
};

/** Kinds of failure by the first word of the code. */
const failures: readonly (readonly [RegExp, string])[] = [
  [/^DataInspection/i, 'content_policy_violation'],
  [/^Throttling/i, 'rate_limit_error'],
  [/^(?:Arrearage|AccessDenied|InvalidApiKey)/i, 'authentication_error'],
  [/^Invalid/i, 'invalid_request_error'],
];

function failureIn(entries: Item): unknown {
  const code = text(entries.code) ?? text(entries.task_status);
  const type = failures.find(([pattern]) => pattern.test(code ?? ''))?.[1] ?? 'server_error';
  return imageError(type, code, text(entries.message) ?? 'no picture was made');
}

/** Ordered at once, made in the background. */
const orderedImages: CustomForm = {
  headers: { 'x-dashscope-async': 'enable' },
  encode: (requested, model) => ({
    model,
    input: present({ prompt: promptOf(requested), negative_prompt: requested.body.negative_prompt }),
    parameters: parametersOf(requested),
  }),
  pending(answer, url) {
    const output = record(record(answer)?.output);
    const id = text(output?.task_id);
    const open = output?.task_status === 'PENDING' || output?.task_status === 'RUNNING';
    if (!open || id === null) return null;
    return { url: `${url.replace(/\/services\/.*$/, '')}/tasks/${encodeURIComponent(id)}`, waitMs };
  },
  decode(answer, requested) {
    const output = record(record(answer)?.output) ?? {};
    const results = records(output.results);
    const made = results.filter(({ url }) => text(url) !== null);
    if (made.length === 0)
      return failureIn(results[0] ?? (text(output.task_status) === null ? (record(answer) ?? {}) : output));
    return imageList(
      made.map(({ url, actual_prompt }) => ({ url: text(url), prompt: text(actual_prompt) })),
      requested,
    );
  },
};

/** Newer models answer at once, in the form of a chat. */
const chattedPictures: CustomForm = {
  path: '/api/v1/services/aigc/multimodal-generation/generation',
  encode: (requested, model) => ({
    model,
    input: { messages: [{ role: 'user', content: [{ text: promptOf(requested) }] }] },
    parameters: { ...parametersOf(requested), ...present({ negative_prompt: requested.body.negative_prompt }) },
  }),
  decode(answer, requested) {
    const output = record(record(answer)?.output);
    const made = records(output?.choices).flatMap(({ message }) =>
      records(record(message)?.content).flatMap(({ image }) => (text(image) === null ? [] : [{ url: text(image) }])),
    );
    return made.length === 0 ? failureIn(record(answer) ?? {}) : imageList(made, requested);
  },
};

/** Models that think aloud or speak answer in streams only. */
const streamOnly = /^(?:qwq|qvq|qwen3-\d)|omni|-thinking/;

export const ali: Adapter = {
  protocol({ operation, model }) {
    if (operation === 'rerank') return { form: rerank };
    if (operation === 'images')
      return { form: /^(?:qwen-image|z-image|wan(?:2\.[6-9]|[3-9]))/.test(model) ? chattedPictures : orderedImages };
    return operation === 'embeddings' && /multimodal|vision|-vl-/.test(model) ? { form: mixedEmbeddings } : null;
  },
  endpoint: ({ operation, other }) =>
    operation === 'chat' && other.trim() !== '' ? { headers: { 'x-dashscope-plugin': other.trim() } } : {},
  body: ({ model, stream }) => ({
    members: (body) => ({
      ...present({ top_p: within(body.top_p, 0.001, 0.999), temperature: within(body.temperature, 0, 1.999) }),
      ...(!stream && streamOnly.test(model) && body.enable_thinking !== false
        ? { stream: true, stream_options: { include_usage: true } }
        : {}),
    }),
  }),
};
