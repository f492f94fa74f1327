/** What is sent upstream: the client's own bytes with surgical edits, or the request told anew in another dialect. */
import type { ChatRequest, ProtocolId } from '../../protocols/canonical.ts';
import type { Translation } from '../../protocols/codec.ts';
import { codecFor } from '../../protocols/registry.ts';
import type { Target } from '../../protocols/target.ts';
import { exactBody, type Inquiry } from '../intake/inquiry.ts';
import { editMembers } from '../intake/json-text.ts';
import type { UpstreamCall } from './call.ts';

/** @param model as the upstream calls it. */
export function editedBody(
  inquiry: Inquiry,
  model: string,
  edits: Map<string, string | undefined>,
): UpstreamCall['body'] {
  const { json, form } = inquiry;
  if (json === null) return form === null ? '' : form.body(model === form.fields.get('model') ? null : model);
  // Where neither body nor path named it the upstream must not choose one of its own, but for
  // moderation, whose default only means whatever the upstream has.
  const inPath = codecFor(inquiry.protocol).traits.modelInPath === true || inquiry.operation === 'moderations';
  const named = inquiry.body.model !== undefined || !inPath;
  if (model !== inquiry.body.model && named) edits.set('model', JSON.stringify(model));
  // The playground's own word for whose prices hold.
  if (inquiry.route.session && 'group' in inquiry.body) edits.set('group', undefined);
  return edits.size === 0 ? json.bytes : editMembers(json.text, json.shape, edits);
}

const decodedRequests = new WeakMap<Inquiry, ChatRequest>();

/** @throws AppError body_invalid. */
export function decodedRequest(inquiry: Inquiry): ChatRequest {
  const known = decodedRequests.get(inquiry);
  if (known !== undefined) return known;
  const decoded = codecFor(inquiry.protocol).translation.decodeRequest(exactBody(inquiry), {
    model: inquiry.model,
    stream: inquiry.stream,
  });
  decodedRequests.set(inquiry, decoded);
  return decoded;
}

export interface Telling {
  readonly encode: Translation['encodeRequest'];
  /** Applied to the common form before it is told. */
  readonly change: (request: ChatRequest) => ChatRequest;
  /** What is known of the upstream's model. */
  readonly target: Target;
}

/** @throws AppError body_invalid. */
export function translatedBody(
  inquiry: Inquiry,
  { encode, change, target }: Telling,
  dropped: string[],
): Record<string, unknown> {
  return encode(change(decodedRequest(inquiry)), dropped, target);
}

export interface EmbeddingsBody {
  readonly body: string;
  /** Tells the whole answer anew. */
  readonly retell: (answer: unknown) => unknown;
}

/** Embeddings in the other dialect's form, one of the two being the common one. */
export function embeddingsBody(inquiry: Inquiry, dialect: ProtocolId, model: string): EmbeddingsBody {
  const { body } = inquiry;
  const own = codecFor(inquiry.protocol).traits.embeddings?.common ?? null;
  const other = codecFor(dialect).traits.embeddings?.common?.upstream;
  const common = own === null ? body : own.toRequest(body, model);
  return {
    body: JSON.stringify(other === undefined ? common : other.fromRequest(common, model)),
    retell: (answer) => {
      const plain = other === undefined ? answer : other.toAnswer(answer, inquiry.model, body.encoding_format);
      return own === null ? plain : own.fromAnswer(plain, body, inquiry.model);
    },
  };
}

export const streamOptionsOf = (inquiry: Inquiry): Record<string, unknown> => {
  const given = inquiry.body.stream_options;
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : {};
};
