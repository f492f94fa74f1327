/** The main action of a list; the `n` key presses it. */
import { Icon } from './icon.tsx';

export function AddButton({ label, onClick }: { readonly label: string; readonly onClick: () => void }) {
  return (
    <button type="button" data-key="n" className="button button-primary" onClick={onClick}>
      <Icon name="plus" />
      {label}
    </button>
  );
}
