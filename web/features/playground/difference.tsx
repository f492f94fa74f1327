/** Two answers laid over each other: what both say stands plain, what only one says is marked. */
import { diffArrays } from 'diff';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';

export interface Piece {
  readonly text: string;
  readonly in: 'both' | 'first' | 'second';
}

/** Answers that take longer are compared by lines: without a word in common they would hold the page. */
const maxMs = 300;

/** Each word with the white space behind it, so that a changed sentence is one piece. Chinese has none between its words. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: 'word' }).segment(text))
    if (words.length > 0 && segment.trim() === '') words[words.length - 1] += segment;
    else words.push(segment);
  return words;
}
const linesOf = (text: string): string[] => text.split(/(?<=\n)/);

/** @returns all pieces in order; those of one answer and those of both give its text back. */
export function piecesOf(first: string, second: string): readonly Piece[] {
  const changes =
    diffArrays(wordsOf(first), wordsOf(second), { timeout: maxMs }) ?? diffArrays(linesOf(first), linesOf(second));
  return changes.map(({ value, added, removed }) => ({
    text: value.join(''),
    in: added ? 'second' : removed ? 'first' : 'both',
  }));
}

/** Characters of both among all, without white space; 1 = they say the same. */
export function sharedIn(pieces: readonly Piece[]): number {
  const count = (of: readonly Piece[]): number =>
    of.reduce((sum, { text }) => sum + text.replace(/\s+/g, '').length, 0);
  const both = count(pieces.filter((piece) => piece.in === 'both'));
  const all = 2 * both + count(pieces.filter((piece) => piece.in !== 'both'));
  return all === 0 ? 1 : (2 * both) / all;
}

export interface DifferenceProps {
  readonly names: readonly [first: string, second: string];
  readonly texts: readonly [first: string, second: string];
}

export function Difference({ names, texts }: DifferenceProps) {
  const { t } = useTranslation();
  const [first, second] = texts;
  const pieces = useMemo(() => piecesOf(first, second), [first, second]);
  const share = sharedIn(pieces);
  return (
    <section
      aria-label={t('playground.differenceOf', { first: names[0], second: names[1] })}
      className="rounded-3 border border-line px-3 py-2.5"
    >
      <p className="mb-2 flex flex-wrap items-baseline gap-x-4 gap-y-1 text-[12px] text-ink-2">
        <span>
          <span className="rounded-1 bg-danger-soft px-1 font-mono text-danger">{names[0]}</span>{' '}
          <span className="rounded-1 bg-success-soft px-1 font-mono text-success">{names[1]}</span>
        </span>
        <span>
          {share === 1 ? t('playground.sameText') : t('playground.sharedText', { share: Math.floor(share * 100) })}
        </span>
      </p>
      <p className="text-[14px] leading-5 break-words whitespace-pre-wrap">
        {pieces.map((piece, at) => {
          const Mark = piece.in === 'first' ? 'del' : piece.in === 'second' ? 'ins' : 'span';
          const look =
            piece.in === 'first' ? 'bg-danger-soft text-danger' : 'bg-success-soft text-success no-underline';
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name than their place
            <Mark key={at} className={piece.in === 'both' ? undefined : `rounded-1 ${look}`}>
              {piece.text}
            </Mark>
          );
        })}
      </p>
    </section>
  );
}
