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
  readonly fault: (fault: Fault) => Refusal;
  readonly habits: ChatHabits;
  readonly rules: readonly Rule[];
  readonly complain?: (refusal: Refusal) => unknown;
  readonly doors?: readonly Door[];
}

export const thinksWhen =
  (models: RegExp) =>
  (model: string, body: Json): boolean =>
    models.test(model) || (body.reasoning_effort !== undefined && body.reasoning_effort !== 'none');

export const chatDouble = (facts: ChatFacts): Double => ({
  name: facts.name,
  slug: facts.slug ?? facts.name,
  maker: facts.name,
  base: facts.base ?? '',
  admit: bearer,
  doors: [
    {
      path: facts.path,
      wire: chatWire(facts.habits),
      rules: [shapeRule(`${facts.name}/form`, facts.source, chatForm(facts.form), facts.fault), ...facts.rules],
    },
    ...(facts.doors ?? []),
  ],
  complain: facts.complain ?? openaiBody,
});

/** Anthropic's dialect at somebody else's: its form and order, thoughts that this provider signed. */
export const messagesDoor = (name: string, path: string, source: string): Door => ({
  path,
  wire: messagesWire,
  rules: [
    messagesShape(`${name}/messages-form`, source, {
      more: 'cache_control container context_management mcp_servers output_config service_tier',
      model: true,
      roles: ['user', 'assistant'],
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
