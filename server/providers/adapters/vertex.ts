/** Google's Vertex AI: Gemini, Claude and open models behind one account. The key is a service account's JSON; `other` names the region, or a region per model. */
import { AppError } from '../../contract/errors.ts';
import type { ProtocolId } from '../../protocols/canonical.ts';
import { geminiGenerate } from '../../protocols/gemini-generate/codec.ts';
import { guardedLookup, number, parseJson, present, record, records, text } from '../../protocols/shared/json.ts';
import type { Adapter, AuthInput, BodyForm, CustomForm, Endpoint, Outgoing, Place } from '../adapter.ts';
import { embeddingList, textsOf } from '../forms/embedding-list.ts';
import { vertexBetas, vertexGates, vertexModels } from '../knowledge/vertex.ts';
import { rs256 } from '../signing/jwt.ts';
import { betasFor, gated } from './beta-headers.ts';
import { imageForm } from './gemini.ts';

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
function accountOf(key: string): Account {
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
function regionFor(other: string, model: string): string {
  const table = record(parseJson(other));
  const named = table === null ? other.trim() : (text(guardedLookup(table, model)) ?? text(table.default) ?? '');
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
  encode(requested) {
    const { dimensions, task_type, title } = requested.body;
    return {
      instances: textsOf(requested).map((content) => present({ content, task_type, title })),
      ...(dimensions == null ? {} : { parameters: { outputDimensionality: dimensions } }),
    };
  },
  decode(answer, requested) {
    const entries = records(record(answer)?.predictions).map(({ embeddings }) => record(embeddings));
    const counts = entries.map((one) => number(record(one?.statistics)?.token_count));
    const tokens = counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
    return embeddingList(
      entries.map((one) => one?.values),
      requested,
      tokens,
    );
  },
  decodeError: geminiGenerate.upstream.decodeError,
};

const operations = new Set(['chat', 'images', 'embeddings']);

/** Sources: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/count-tokens, https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/count-tokens */
function pathOf({ operation, model, stream }: Place): string | null {
  const google = `publishers/google/models/${encodeURIComponent(model)}`;
  const dialect = dialectFor(model);
  if (operation === 'count_tokens')
    return dialect === 'anthropic-messages' ? 'publishers/anthropic/models/count-tokens:rawPredict' : null;
  if (operation === 'count_contents') return dialect === 'gemini-generate' ? `${google}:countTokens` : null;
  if (operation === 'images' && !model.startsWith('imagen')) return `${google}:generateContent`;
  if (operation !== 'chat') return `${google}:predict`;
  switch (dialect) {
    case 'gemini-generate':
      return `${google}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
    case 'anthropic-messages': {
      const called = encodeURIComponent(dated(model)).replace('%40', '@');
      return `publishers/anthropic/models/${called}:${stream ? 'streamRawPredict' : 'rawPredict'}`;
    }
    default:
      return 'endpoints/openapi/chat/completions';
  }
}

function endpoint(place: Place): Endpoint | null {
  const { operation, model, other, baseUrl } = place;
  if (!operation.startsWith('count_') && !operations.has(operation)) return null;
  const region = regionFor(other, model);
  // It becomes part of the host.
  if (!/^[a-z0-9-]{1,40}$/.test(region)) return null;
  const path = pathOf(place);
  if (path === null) return null;
  const host = region === 'global' ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`;
  const base = baseUrl === '' ? `https://${host}` : baseUrl;
  const url = (key: string) => `${base}/v1/projects/${accountOf(key).project}/locations/${region}/${path}`;
  // Of features only those that are known here may be named.
  return { url, ownHeaders: true };
}

function body({ operation, model }: Place): BodyForm | null {
  // Here a whole request is not wrapped once more.
  if (operation === 'count_contents') return { whole: (body) => (body.contents === undefined ? null : { body }) };
  if (dialectFor(model) !== 'anthropic-messages') return null;
  if (operation === 'count_tokens') return { whole: (body) => ({ body: { ...body, model: dated(model) } }) };
  if (operation !== 'chat') return null;
  return {
    whole({ model: _, ...members }, { betas: header, dropped }) {
      const betas = betasFor(vertexBetas, header, model);
      const body = {
        anthropic_version: 'vertex-2023-10-16',
        ...gated(members, { gates: vertexGates, betas, model }, dropped),
      };
      return betas.length === 0 ? { body } : { body, headers: { 'anthropic-beta': betas.join(',') } };
    },
  };
}

async function auth(request: Outgoing, { key, nowMs, token }: AuthInput): Promise<Outgoing> {
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

export const vertex: Adapter = {
  protocol({ operation, model }) {
    if (operation === 'chat') return { dialect: dialectFor(model) };
    return operation === 'images'
      ? { form: imageForm(model) }
      : operation === 'embeddings'
        ? { form: embeddings }
        : null;
  },
  endpoint,
  body,
  auth,
};
