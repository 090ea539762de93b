// The page of a funding link works without this file, by loading it again. With it, the page follows the payment by itself,
// shows how much time is left, and copies what is to be pasted into a wallet.

// The time that is left is counted from when the page was told, because the clock of a phone may be wrong.
let counted;
let end;

const main = document.querySelector('main[data-events]');
if (main) {
  follow(main);
  showTimeLeft();
  setInterval(showTimeLeft, 1000);
}

// The clipboard is there only over HTTPS and on the machine itself.
if (navigator.clipboard) {
  document.documentElement.classList.add('can-copy');
  document.addEventListener('click', async (event) => {
    const button = event.target.closest('[data-copy]');
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}

function follow(page) {
  const events = new EventSource(page.dataset.events);
  const announced = document.querySelector('.announced');
  events.addEventListener('state', ({ data }) => {
    const state = JSON.parse(data);
    if (state.phase === page.dataset.phase) {
      const progress = page.querySelector('.progress');
      if (progress && progress.innerHTML !== state.progress) progress.innerHTML = state.progress;
    } else {
      page.dataset.phase = state.phase;
      page.innerHTML = state.main;
      showTimeLeft();
    }
    document.title = state.title;
    if (announced.textContent !== state.said) announced.textContent = state.said;
    if (state.phase === 'over') events.close();
  });
  addEventListener('pagehide', () => events.close());
  // Back from the card company the browser may show the page as it was left.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
}

function showTimeLeft() {
  const left = document.querySelector('[data-left]');
  if (!left) return;
  if (left !== counted) {
    counted = left;
    end = performance.now() + Number(left.dataset.left) * 1000;
  }
  const seconds = Math.max(0, Math.round((end - performance.now()) / 1000));
  left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')} left`;
  left.classList.toggle('soon', seconds < 120);
}
