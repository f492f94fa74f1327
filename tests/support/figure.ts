/** What a test measured or counted: shown where it runs, and kept for the page that says what was proven. */
import { TestRunner } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    figures?: string[];
  }
}

/** @param text counts and units in words, such as `50 kills: 0 charges lost`. */
export function figure(text: string): void {
  console.log(text);
  const test = TestRunner.getCurrentTest();
  if (test === undefined) throw new Error(`a figure belongs to a test: ${text}`);
  test.meta.figures = [...(test.meta.figures ?? []), text];
}
