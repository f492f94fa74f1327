/** All clients of the grid. */
import { aiDrivers } from './drive-ai.ts';
import { anthropicMessages } from './drive-anthropic.ts';
import { googleGenerate } from './drive-google.ts';
import { openaiChat, openaiResponses } from './drive-openai.ts';
import type { Driver } from './driver.ts';

export const gridDrivers: readonly Driver[] = [
  openaiChat,
  openaiResponses,
  anthropicMessages,
  googleGenerate,
  ...aiDrivers,
];
