/** Counts the steps of programs that sign in, by how they ended. Steps and words are those of closed lists. */

export interface SignInCount {
  readonly step: string;
  readonly result: string;
  readonly count: number;
}

export interface SignInCounts {
  note(step: string, result: string): void;
  read(): readonly SignInCount[];
}

export function createSignInCounts(): SignInCounts {
  const steps = new Map<string, Map<string, number>>();
  return {
    note(step, result) {
      const results = steps.get(step) ?? new Map<string, number>();
      steps.set(step, results.set(result, (results.get(result) ?? 0) + 1));
    },
    read: () =>
      [...steps].flatMap(([step, results]) => [...results].map(([result, count]) => ({ step, result, count }))),
  };
}
