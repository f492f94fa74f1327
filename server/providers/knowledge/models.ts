/** Everything that is said of models. A row behind another one wins. */
import type { ModelRow } from './row.ts';
import { anthropicModels } from './rows/anthropic.ts';
import { geminiModels } from './rows/gemini.ts';
import { openaiModels } from './rows/openai.ts';
import { otherModels } from './rows/other.ts';
import { thoughtRows } from './rows/thoughts.ts';

export const modelRows: readonly ModelRow[] = [
  ...openaiModels,
  ...anthropicModels,
  ...geminiModels,
  ...otherModels,
  ...thoughtRows,
];
