/** What may be asked of a person. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

export interface Question {
  readonly label: string;
  readonly secret?: boolean;
  readonly choices?: readonly Choice[];
  /** Taken when nothing is typed. */
  readonly fallback?: string;
  /** An empty answer is one. */
  readonly optional?: boolean;
  /** Which question of how many: `2/8`. */
  readonly step?: string;
  /** It comes up because of the answer before, and has its number. */
  readonly follows?: true;
  /** What may be typed, and what an empty answer means. */
  readonly hint?: string;
  /** Several choices may be picked: the answer has commas between them. */
  readonly several?: boolean;
  /** Choices are proposals: anything else may be typed. */
  readonly open?: boolean;
  /** Several lines that are pasted are one answer of several lines. */
  readonly lines?: boolean;
  /** Shift-Tab goes back to the question before. */
  readonly returns?: boolean;
  /** What was answered before somebody came back. */
  readonly before?: string;
  /** @returns what is wrong with an answer, in the reader's language: it is asked for again. */
  readonly check?: (answer: string) => string | null;
}

/** Words of a question beside its own. */
export interface QuestionWords {
  readonly noMatch: string;
  readonly severalHint: string;
  readonly selected: (names: readonly string[]) => string;
  readonly lines: (count: number) => string;
  readonly needed: string;
  /** Between a question and its answer. */
  readonly colon: string;
  /** What an empty answer takes, behind a question. */
  readonly fallback: (value: string) => string;
  /** Several lines were pasted where one fits. */
  readonly oneLine: string;
  /** Nothing was picked of several: all of them. */
  readonly all: string;
  /** How to go back to the question before. */
  readonly back: string;
  /** Above the answers that there is no room for. */
  readonly more: (count: number) => string;
}

/** What the table of errors says, as the forms write: a sentence of theirs begins without a capital. */
export const asNote = (text: string): string =>
  /^(?:The|An?|This|Passwords|No|Only)\b/.test(text) ? `${text[0]?.toLowerCase()}${text.slice(1)}` : text;

/** The question before is wanted once more. */
export class GoBack extends Error {}

/** Where questions are shown and answered. */
export interface Surface {
  /** @throws AppError cancelled, input_needed; GoBack where the question may be left so. */
  ask(question: Question): Promise<string>;
  /** It was answered before somebody went back behind it. */
  repeat(question: Question, answer: string): void;
  note(text: string): void;
  /** Answers until here stay. */
  settle(): void;
  /** Answers that may still be changed are taken away: they are given again. */
  reopen(): void;
  during<Result>(work: Promise<Result>, doing: string): Promise<Result>;
  close(): Promise<void>;
}
