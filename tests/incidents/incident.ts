/** Failures that happened to others, each as a test of ours: its name says which, and in one line what failed there. */
import { test } from 'vitest';

/** @param id of the advisory, or repository and number of the report. @param failed what went wrong elsewhere. */
export const incident = (id: string, failed: string, prove: () => unknown): void =>
  test(`${id}: ${failed}`, prove as () => void);
