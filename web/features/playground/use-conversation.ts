/** A conversation: what was said, what is being said, and the way to stop it. */

import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';
import { parseNumber } from '../../../server/contract/amounts.ts';
import { textIn } from '../../../server/contract/language.ts';
import { valueIn } from '../../components/amount.ts';
import { messageOf } from '../../lib/attempt.ts';
import { currentLanguage } from '../../lib/i18n.ts';
import { converse, type Said } from './converse.ts';
import { type Settings, tokenTerms } from './use-settings.ts';

export interface Line extends Said {
  readonly id: number;
  readonly state: 'loading' | 'incomplete' | 'complete' | 'error';
}

export interface Conversation {
  readonly lines: readonly Line[];
  readonly busy: boolean;
  /** @returns false when there is nothing to say, nobody to say it to, or an answer on its way. */
  readonly send: (text: string) => boolean;
  readonly stop: () => void;
  readonly clear: () => void;
}

export function useConversation({ model, group, temperature, maxTokens, system }: Settings): Conversation {
  const { t } = useTranslation();
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [abort, setAbort] = useState<AbortController | null>(null);
  const next = useRef(1);

  const answerTo = async (content: string) => {
    const mine: Line = { id: next.current++, role: 'user', content, state: 'complete' };
    const answer: Line = { id: next.current++, role: 'assistant', content: '', state: 'loading' };
    const before = [...lines, mine];
    setLines([...before, answer]);
    const control = new AbortController();
    setAbort(control);
    const change = (edit: (line: Line) => Line) =>
      setLines((old) => old.map((line) => (line.id === answer.id ? edit(line) : line)));
    const messages: Said[] = [
      { role: 'system', content: system.trim() === '' ? t('playground.defaultSystem') : system },
      ...before.filter(({ state }) => state !== 'error').map(({ role, content: words }) => ({ role, content: words })),
    ];
    const wish = { model, group, temperature, maxTokens: valueIn(parseNumber(maxTokens, tokenTerms), 0) };
    try {
      await converse(
        messages,
        wish,
        (piece) => change((line) => ({ ...line, content: line.content + piece, state: 'incomplete' })),
        control.signal,
      );
      change((line) => ({ ...line, state: 'complete' }));
    } catch (error) {
      const gone = control.signal.aborted;
      change((line) => ({
        ...line,
        content: gone ? line.content : `${line.content}${line.content === '' ? '' : '\n'}${messageOf(error)}`,
        state: gone ? 'complete' : 'error',
      }));
    } finally {
      setAbort(null);
    }
  };
  const send = (text: string): boolean => {
    const content = text.trim();
    if (content === '' || abort !== null || model === '') return false;
    const most = parseNumber(maxTokens, tokenTerms);
    if (most.kind === 'invalid' && most.problem.reason !== 'empty') {
      toast.error(`${t('playground.maxTokens')}: ${textIn(most.problem, currentLanguage())}`);
      return false;
    }
    void answerTo(content);
    return true;
  };
  return { lines, busy: abort !== null, send, stop: () => abort?.abort(), clear: () => setLines([]) };
}
