/** Providers that speak OpenAI's chat, put together from their rows of facts. */
import { type Json, record } from '../../../server/protocols/shared/json.ts';
import { bearer, type Door, type Double, openaiBody } from '../double.ts';
import type { Refusal, Rule } from '../rule.ts';
import { type ChatForm, chatForm } from '../rules/chat-form.ts';
import { messagesBasics, messagesShape, signedThoughts } from '../rules/messages.ts';
import { responsesBasics } from '../rules/responses.ts';
import { type Fault, shapeRule } from '../shape.ts';
import { type ChatHabits, chatWire } from '../wires/chat.ts';
import { messagesWire } from '../wires/messages.ts';
import { responsesWireWith } from '../wires/responses.ts';

export interface ChatFacts {
  readonly name: string;
  readonly slug?: string;
  readonly base?: string;
  readonly path: string;
  /** The document that describes the request. */
  readonly source: string;
  readonly form: ChatForm;
  readonly error: (error: Fault) => Refusal;
  readonly habits: ChatHabits;
  readonly rules: readonly Rule[];
  readonly complain?: (refusal: Refusal) => unknown;
  readonly doors?: readonly Door[];
}

export const thinksWhen =
  (models: RegExp) =>
  (model: string, body: Json): boolean =>
    models.test(model) || (body.reasoning_effort !== undefined && body.reasoning_effort !== 'none');

export const chatDouble = (details: ChatFacts): Double => ({
  name: details.name,
  slug: details.slug ?? details.name,
  maker: details.name,
  base: details.base ?? '',
  admit: bearer,
  doors: [
    {
      path: details.path,
      wire: chatWire(details.habits),
      rules: [
        shapeRule(`${details.name}/form`, details.source, chatForm(details.form), details.error),
        ...details.rules,
      ],
    },
    ...(details.doors ?? []),
  ],
  complain: details.complain ?? openaiBody,
});

interface MessagesHost {
  /** What it refuses in words of its own. */
  readonly first?: readonly Rule[];
  readonly roles?: readonly [string, ...string[]];
}

/** Anthropic's dialect at somebody else's: its form and order, thoughts that this provider signed. */
export const messagesDoor = (
  name: string,
  path: string,
  source: string,
  { first = [], roles = ['user', 'assistant'] }: MessagesHost = {},
): Door => ({
  path,
  wire: messagesWire,
  rules: [
    ...first,
    messagesShape(`${name}/messages-form`, source, {
      more: 'cache_control container context_management mcp_servers output_config service_tier',
      model: true,
      roles,
    }),
    ...messagesBasics,
    signedThoughts,
  ],
});

/** OpenAI's Responses at somebody else's. */
export const responsesDoor = (path: string, thinks: ChatHabits['thinks'], rules: readonly Rule[]): Door => ({
  path,
  wire: responsesWireWith((model, body) =>
    thinks(model, { ...body, reasoning_effort: record(body.reasoning)?.effort ?? undefined }),
  ),
  rules: [...responsesBasics, ...rules],
});
