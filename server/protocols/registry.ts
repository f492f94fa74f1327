/** Every dialect the relay can watch. */

import { anthropicMessages } from './anthropic-messages/codec.ts';
import type { ProtocolId } from './canonical.ts';
import type { Codec } from './codec.ts';
import { openaiChat } from './openai-chat/codec.ts';
import { openaiResponses } from './openai-responses/codec.ts';

const codecs: Partial<Record<ProtocolId, Codec>> = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  'anthropic-messages': anthropicMessages,
};

/** OpenAI's dialect answers for those without a codec of their own. */
export const codecFor = (id: ProtocolId): Codec => codecs[id] ?? openaiChat;
