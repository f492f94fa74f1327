/** The step `read`: path and body become a parsed request; all of their errors are reported here. */
import { AppError } from '../../contract/errors.ts';
import { codecFor } from '../../protocols/registry.ts';
import { allFeatures } from '../../routing/features.ts';
import { type BodyHolder, memoryPerByte } from './body-memory.ts';
import { compactionOf, contentOf, openedSummaries, summaryBody } from './compaction.ts';
import { readBody } from './compressed-body.ts';
import { type Form, formOf } from './form.ts';
import { maxMembers, outline } from './json-text.ts';
import { checkFields, checkMembers, checkModelName, checkTwice } from './members.ts';
import { type EncryptedBlob, exactBody, type JsonContent, type ParsedRequest } from './parsed-request.ts';
import { readPrompt } from './prompt.ts';
import { type LoadItems, loadedBody } from './references.ts';
import type { MatchedRoute, RelayRoute } from './routes.ts';

export interface ParseContext {
  readonly requestId: string;
  readonly startedMs: number;
  /** Largest body in bytes. */
  readonly bodyLimit: number;
  /** Who says how much memory the body takes; absent = nobody asks. */
  readonly holder?: BodyHolder;
  /** Called when the body is there, and the reading begins. */
  readonly works?: (requestId: string) => void;
  /** For summaries of conversations; absent where there are none. */
  readonly encryptedBlob?: EncryptedBlob;
  /** For items that are named instead of repeated; absent where there are none. */
  readonly loadItems?: LoadItems;
}

/** @throws AppError body_*, model_missing, overloaded. */
export async function parse(request: Request, matched: MatchedRoute, context: ParseContext): Promise<ParsedRequest> {
  const { route } = matched;
  const wantsForm =
    route.body === 'form' && !(request.headers.get('content-type') ?? '').startsWith('application/json');
  const perByte = wantsForm ? memoryPerByte.form : memoryPerByte.json;
  const bytes = await readBody(request, { limit: context.bodyLimit, holder: context.holder, perByte });
  context.works?.(context.requestId);
  const input = wantsForm ? formContent(request, bytes) : jsonContent(bytes);
  if (input.json === null) checkFields(input.body, route.operation);
  else checkMembers(input.json, input.body, matched);
  const { definition } = codecFor(route.protocol);
  let content = route.asChat === undefined ? input : asChat(input, route.asChat);
  const recalled = definition.references === undefined ? null : loadedContent(content, route, context);
  if (recalled !== null) content = await recalled;
  const encryptedBlob = definition.compaction === undefined ? undefined : context.encryptedBlob;
  if (encryptedBlob !== undefined) content = plain(content, route, encryptedBlob);
  const { body } = content;
  const compaction = encryptedBlob === undefined ? null : compactionOf(route, body, encryptedBlob);
  if (route.operation === 'speech' && body.input !== undefined && typeof body.input !== 'string')
    throw new AppError('body_invalid', { detail: 'input must be a string' });
  if ((route.operation === 'transcriptions' || route.operation === 'translations') && !carriesRecording(content))
    throw new AppError('body_invalid', { detail: 'file is required, and nothing may name a recording by its address' });
  const model = matched.model ?? body.model ?? route.defaultModel;
  if (model === undefined || model === null || model === '') throw new AppError('model_missing');
  if (typeof model !== 'string') throw new AppError('body_invalid', { detail: 'model must be a string' });
  checkModelName(model);
  const stream = route.stream ?? (wantsForm ? body.stream === 'true' : (body.stream ?? route.streamsByDefault));
  if (stream !== undefined && stream !== null && typeof stream !== 'boolean') {
    throw new AppError('body_invalid', { detail: 'stream must be true or false' });
  }
  // Counted with the words that ask for a summary, should it come to that.
  const prompt = compaction === null ? readPrompt(body) : readPrompt(summaryBody(route, body), allFeatures);
  if (content.json !== null && (compaction !== null || content.json.shape.all !== prompt.members))
    checkTwice(content.json.text);
  return {
    requestId: context.requestId,
    startedMs: context.startedMs,
    route,
    protocol: route.protocol,
    operation: route.operation,
    model: model.startsWith('models/') ? model.slice(7) : model,
    stream: stream === true,
    json: content.json,
    form: content.form,
    body,
    prompt,
    ...(compaction === null ? {} : { compaction }),
    request,
    clientHeaders: request.headers.toJSON(),
  };
}

/** In the form of the dialect's chat, before anything counts, prices or routes it. */
function asChat(content: Content, change: NonNullable<RelayRoute['asChat']>): Content {
  return { ...contentOf(change(exactBody(content))), form: null };
}

/** Without summaries that only this site can read. */
function plain(content: Content, route: RelayRoute, encryptedBlob: EncryptedBlob): Content {
  const opened = content.json === null ? null : openedSummaries(route, content.body, encryptedBlob);
  if (opened === null) return content;
  const exact = exactBody(content);
  const whole = exact === content.body ? opened : (openedSummaries(route, exact, encryptedBlob) ?? opened);
  return { ...contentOf(whole), form: null };
}

/** With what it names in full; null = it names nothing. */
function loadedContent(content: Content, route: RelayRoute, context: ParseContext): Promise<Content> | null {
  const { loadItems, bodyLimit, holder } = context;
  if (content.json === null || loadItems === undefined) return null;
  const received = content.json.bytes.length;
  const recalled = loadedBody(route, content, { loadItems, bodyLimit, holder, received });
  return recalled?.then((body) => (body === null ? content : { ...contentOf(body), form: null })) ?? null;
}

interface Content {
  readonly body: Readonly<Record<string, unknown>>;
  readonly json: JsonContent | null;
  readonly form: Form | null;
}

/** A recording is charged by its length, and one at an address may have any length. */
const carriesRecording = ({ form, body }: Content): boolean =>
  form !== null && form.file !== null && !Object.keys(body).some((name) => /ur[li]$/i.test(name));

function formContent(request: Request, bytes: Uint8Array<ArrayBuffer>): Content {
  const form = formOf(request.headers.get('content-type') ?? '', bytes);
  return { body: Object.fromEntries(form.fields), json: null, form };
}

function jsonContent(received: Uint8Array<ArrayBuffer>): Content {
  const bytes = withoutMark(received);
  const text = textOf(bytes);
  const shape = outline(text, maxMembers);
  if (!shape.ok) {
    if (shape.reason === 'too_deep') throw new AppError('body_too_deep');
    throw new AppError('body_not_json');
  }
  return { body: membersOf(text), json: { bytes, text, shape }, form: null };
}

/** Editors and shells of Windows begin texts with it, and most upstreams refuse it. Source: RFC 8259, section 8.1 */
const withoutMark = (bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function textOf(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch (cause) {
    throw new AppError('body_not_utf8', {}, cause);
  }
}

function membersOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (cause) {
    throw new AppError('body_not_json', {}, cause);
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
