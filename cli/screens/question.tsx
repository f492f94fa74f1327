/** One question: a line, a masked secret, or a choice that narrows while one types; what was answered stays on the screen. */

import { Box, Text, useInput } from 'ink';
import { useEffect, useRef, useState } from 'react';
import { safeLine } from '../../server/contract/safe-text.ts';
import { withInput } from '../parts/pasted.ts';
import type { Choice, Question } from '../parts/question.ts';

const shownChoices = 8;

const tail = (text: string): string => (text.length > 60 ? `…${text.slice(-59)}` : text);
const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 59)}…` : text);

export function QuestionScreen({ question, onAnswer }: { question: Question; onAnswer: (text: string) => void }) {
  const [text, setText] = useState('');
  const held = useRef('');
  const [at, setAt] = useState(0);
  const [given, setGiven] = useState<string | null>(null);
  // Once it was drawn: the last picture is what remains.
  useEffect(() => {
    if (given !== null) onAnswer(given);
  }, [given, onAnswer]);
  const choices = question.choices?.filter((choice) => choice.label.toLowerCase().includes(text.toLowerCase()));
  useInput((input, key) => {
    if (given !== null || key.ctrl || key.meta || key.escape) return;
    if (key.upArrow || key.downArrow) {
      const last = Math.max(0, (choices?.length ?? 1) - 1);
      return setAt((now) => Math.min(last, Math.max(0, now + (key.downArrow ? 1 : -1))));
    }
    const erases = key.backspace || key.delete;
    // A paste may bring many characters at once, line ends among them.
    const next = erases
      ? { text: held.current.slice(0, -1), whole: false }
      : withInput(held.current, key.return ? '\n' : input);
    held.current = next.text;
    if (!next.whole) {
      setAt(0);
      return setText(next.text);
    }
    const answer = choices === undefined ? next.text || question.fallback || '' : choices[at]?.value;
    if (answer !== undefined && (answer !== '' || question.optional === true)) setGiven(answer);
  });
  if (given !== null)
    return (
      <Text>
        {safeLine(question.label)}: {shortened(answered(question, given))}
      </Text>
    );
  const shown = question.secret === true ? '*'.repeat(text.length) : text;
  return (
    <Box flexDirection="column">
      <Text>
        {safeLine(question.label)}
        {question.fallback === undefined ? '' : ` (${safeLine(question.fallback)})`}: {tail(shown)}
        <Text inverse> </Text>
        {choices?.length === 0 ? <Text color="yellow"> ?</Text> : null}
      </Text>
      {choices === undefined ? null : <Choices choices={choices} at={at} />}
    </Box>
  );
}

/** How an answer is told once it was given; a secret by its length at most. */
const answered = ({ secret, choices }: Question, given: string): string => {
  if (secret === true) return '*'.repeat(Math.min(given.length, 8));
  return safeLine(choices?.find(({ value }) => value === given)?.label ?? given);
};

function Choices({ choices, at }: { choices: readonly Choice[]; at: number }) {
  const first = Math.max(0, Math.min(at - shownChoices + 1, choices.length - shownChoices));
  return (
    <Box flexDirection="column">
      {choices.slice(first, first + shownChoices).map((choice, index) => (
        <Text key={choice.value} wrap="truncate" bold={first + index === at}>
          {first + index === at ? '> ' : '  '}
          {safeLine(choice.label)}
        </Text>
      ))}
    </Box>
  );
}
