/** Every dialect the relay speaks. */
import { anthropicMessages } from './anthropic-messages/codec.ts';
import type { ProtocolId } from './canonical.ts';
import type { Codec } from './codec.ts';
import { geminiGenerate } from './gemini-generate/codec.ts';
import { openaiChat } from './openai-chat/codec.ts';
import { openaiResponses } from './openai-responses/codec.ts';

export const codecs: Readonly<Record<ProtocolId, Codec>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
  'gemini-generate': geminiGenerate,
};

export const codecFor = (id: ProtocolId): Codec => codecs[id];
