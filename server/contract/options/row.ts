/** One option: everything that forms, commands, checks and documents say about it. */
import type { OptionKind } from '../option-kinds.ts';

interface Words {
  readonly zh: string;
  readonly en: string;
}

export interface OptionRow<T = unknown> {
  readonly kind: OptionKind<T>;
  /** Stored text when nothing is stored. */
  readonly fallback: string;
  /** Tab of the settings page and panel on it. */
  readonly tab: string;
  readonly panel: string;
  readonly label: Words;
  /** One sentence: what it does, in which unit, what empty or zero means. */
  readonly help: Words;
  /** Least role that may write it. */
  readonly role: number;
  /** Sealed at rest, never given out. */
  readonly secret: boolean;
  /** Field of the status payload that publishes it. */
  readonly publicAs: string | null;
  /** Another option that must not be empty before this switch may be turned on. */
  readonly needs: string | null;
  /** Switch that must be on for this one to matter; forms lock it otherwise. */
  readonly dependsOn: string | null;
  /** Asked before this value is stored. */
  readonly confirm: (Words & { readonly value: string }) | null;
}

type Defaulted = 'role' | 'secret' | 'publicAs' | 'needs' | 'dependsOn' | 'confirm';

/** Where nothing else is said administrators may write it and everybody who may read options reads it. */
export const option = <T>(
  row: Omit<OptionRow<T>, Defaulted> & Partial<Pick<OptionRow<T>, Defaulted>>,
): OptionRow<T> => ({
  role: 10,
  secret: false,
  publicAs: null,
  needs: null,
  dependsOn: null,
  confirm: null,
  ...row,
});
