/** Google's Vertex AI: Gemini, Claude and open models behind one account. The key is a service account's JSON; `other` names the region, or a region per model. */
import { AppError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { geminiGenerate } from '../../protocols/gemini-generate/codec.ts';
import { lookUp, number, parseJson, present, record, records, text } from '../../protocols/shared/json.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import { vertexBetas, vertexGates, vertexModels } from '../knowledge/vertex.ts';
import type { CustomForm, Outgoing, PlainCall, Quirk, Shaped, SignFacts } from '../quirk.ts';
import { rs256 } from '../signing/jwt.ts';
import { betasFor, gated } from './betas.ts';
import { pictureForm } from './gemini.ts';

const fallbackRegion = 'us-central1';
const scope = 'https://www.googleapis.com/auth/cloud-platform';
const lifetime = 3600;

interface Account {
  readonly project: string;
  readonly email: string;
  readonly privateKey: string;
  readonly keyId: string;
  readonly tokenUrl: string;
}

/** @throws AppError upstream_key when it is no service account. */
export function accountOf(key: string): Account {
  const json = record(parseJson(key));
  const project = text(json?.project_id);
  const email = text(json?.client_email);
  const privateKey = text(json?.private_key);
  if (project === null || email === null || privateKey === null) throw new AppError('upstream_key');
  return {
    project,
    email,
    privateKey,
    keyId: text(json?.private_key_id) ?? '',
    tokenUrl: text(json?.token_uri) ?? 'https://oauth2.googleapis.com/token',
  };
}

/** @param other a region, or JSON of model to region with `default`. @throws AppError upstream_unreachable for what cannot be a part of a host's name. */
export function regionFor(other: string, model: string): string {
  const table = record(parseJson(other));
  const named = table === null ? other.trim() : (text(lookUp(table, model)) ?? text(table.default) ?? '');
  const region = named === '' ? fallbackRegion : named;
  if (!/^[a-z\d-]+$/i.test(region)) throw new AppError('upstream_unreachable');
  return region;
}

const dialectFor = (model: string): ProtocolId =>
  model.startsWith('claude') ? 'anthropic-messages' : model.startsWith('gemini') ? 'gemini-generate' : 'openai-chat';

/** Claude's models carry their date behind an `@` here. */
const dated = (model: string): string =>
  vertexModels.find(({ name }) => name === model)?.id ?? model.replace(/-(\d{8})$/, '@$1');

/** Each text is an instance of its own, with its own count of tokens. */
const embeddings: CustomForm = {
  encode(asked) {
    const { dimensions, task_type, title } = asked.body;
    return {
      instances: textsOf(asked).map((content) => present({ content, task_type, title })),
      ...(dimensions == null ? {} : { parameters: { outputDimensionality: dimensions } }),
    };
  },
  decode(answer, asked) {
    const told = records(record(answer)?.predictions).map(({ embeddings }) => record(embeddings));
    const counts = told.map((one) => number(record(one?.statistics)?.token_count));
    const tokens = counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    return embeddingList(
      told.map((one) => one?.values),
      asked,
      tokens,
    );
  },
  decodeError: geminiGenerate.upstream.decodeError,
};

const operations = new Set(['chat', 'images', 'embeddings']);

/** Sources: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens, https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens */
function counted({ operation, body, model: name }: PlainCall, place: string): Shaped | null {
  const dialect = dialectFor(name);
  if (operation === 'count_tokens' && dialect === 'anthropic-messages')
    return {
      url: `${place}/publishers/anthropic/models/count-tokens:rawPredict`,
      body: { ...body, model: dated(name) },
    };
  // Here a whole request is not wrapped once more.
  if (operation !== 'count_contents' || dialect !== 'gemini-generate' || body.contents === undefined) return null;
  return { url: `${place}/publishers/google/models/${encodeURIComponent(name)}:countTokens`, body };
}

function shape(call: PlainCall): Shaped | null {
  const counts = call.operation.startsWith('count_');
  if (!counts && !operations.has(call.operation)) return null;
  const region = regionFor(call.other, call.model);
  // It becomes part of the host.
  if (!/^[a-z0-9-]{1,40}$/.test(region)) return null;
  const model = encodeURIComponent(dated(call.model)).replace('%40', '@');
  const host = region === 'global' ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`;
  const base = call.baseUrl === '' ? `https://${host}` : call.baseUrl;
  const place = `${base}/v1/projects/${accountOf(call.key).project}/locations/${region}`;
  if (counts) return counted(call, place);
  if (call.operation !== 'chat') {
    const draws = call.operation === 'images' && !call.model.startsWith('imagen');
    const verb = draws ? 'generateContent' : 'predict';
    return { url: `${place}/publishers/google/models/${encodeURIComponent(call.model)}:${verb}`, body: call.body };
  }
  switch (dialectFor(call.model)) {
    case 'gemini-generate': {
      const verb = call.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return { url: `${place}/publishers/google/models/${encodeURIComponent(call.model)}:${verb}`, body: call.body };
    }
    case 'anthropic-messages': {
      const { model: _, ...said } = call.body;
      const betas = betasFor(vertexBetas, call.betas, call.model);
      const body = gated(said, { gates: vertexGates, betas, model: call.model }, call.dropped);
      const verb = call.stream ? 'streamRawPredict' : 'rawPredict';
      return {
        url: `${place}/publishers/anthropic/models/${model}:${verb}`,
        body: { anthropic_version: 'vertex-2023-10-16', ...body },
        ...(betas.length === 0 ? {} : { headers: { 'anthropic-beta': betas.join(',') } }),
      };
    }
    default:
      return { url: `${place}/endpoints/openapi/chat/completions`, body: call.body };
  }
}

async function sign(request: Outgoing, { key, nowMs, token }: SignFacts): Promise<Outgoing> {
  const account = accountOf(key);
  const at = Math.floor(nowMs / 1000);
  const claims = { iss: account.email, scope, aud: account.tokenUrl, iat: at, exp: at + lifetime };
  const bearer = await token({
    id: `vertex ${account.email} ${account.keyId}`,
    url: account.tokenUrl,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await rs256({ kid: account.keyId }, claims, account.privateKey),
    }).toString(),
    read(answer) {
      const found = text(record(answer)?.access_token);
      return found === null ? null : { token: found, seconds: Number(record(answer)?.expires_in) || lifetime };
    },
  });
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${bearer}` } };
}

export const vertex: Quirk = {
  dialectFor,
  // Of features only those that are known here may be named.
  ownHeaders: true,
  formFor: (operation, model) =>
    operation === 'images' ? pictureForm(model) : operation === 'embeddings' ? embeddings : null,
  shape,
  sign,
};
