/** Every dialect the relay speaks. */
import { anthropicMessages } from './anthropic-messages/codec.ts';
import type { ProtocolId } from './canonical.ts';
import type { Codec } from './codec.ts';
import { cohereChat } from './cohere-chat/codec.ts';
import { geminiGenerate } from './gemini-generate/codec.ts';
import { ollamaChat } from './ollama-chat/codec.ts';
import { openaiChat } from './openai-chat/codec.ts';
import { openaiResponses } from './openai-responses/codec.ts';

export const codecs: Readonly<Record<ProtocolId, Codec>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  'gemini-generate': geminiGenerate,
  'cohere-chat': cohereChat,
  'ollama-chat': ollamaChat,
};

export const codecFor = (id: ProtocolId): Codec => codecs[id];

/** In the order in which they are asked whose a path is. */
export const allCodecs: readonly Codec[] = Object.values(codecs);
export const isProtocol = (id: string): id is ProtocolId => Object.hasOwn(codecs, id);

/** The protocol of operations that no dialect defines itself. */
export const commonProtocol: ProtocolId = 'openai-chat';
