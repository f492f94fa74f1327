/** Refuses prompts that contain a word of the operator's list. */
import { AppError } from '../../contract/errors.ts';
import type { Prompt } from '../intake/prompt.ts';
import type { RelaySettings } from '../state/settings.ts';

/** @throws AppError sensitive_words. Case does not matter. */
export function checkWords(settings: RelaySettings, prompt: Prompt): void {
  const { blockedWords } = settings;
  if (blockedWords.length === 0) return;
  for (const text of prompt.texts) {
    const lower = text.toLowerCase();
    for (const word of blockedWords) if (lower.includes(word)) throw new AppError('sensitive_words');
  }
}
