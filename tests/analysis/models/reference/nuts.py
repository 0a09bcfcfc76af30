"""NUTS on the released study: prints nuts.json. Run ``python nuts.py TRIALS.csv`` where numpyro is installed.

TRIALS.csv holds the 957 retained trials: tests.analysis.trials.released_trials(folder).to_csv(path).
"""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas as pd
from numpyro.infer import MCMC, NUTS

NAMES = ["Qi-2019", "Select & Forget", "regularized", "ground truth"]
trials = pd.read_csv(sys.argv[1])
arm = trials["condition"].map(NAMES.index).to_numpy()
who = pd.factorize(trials["participant_id"])[0]
what = np.unique(trials["item_id"], return_inverse=True)[1]
answer = trials["rated_correct"].astype(float).to_numpy()


def model(by_condition):
    intercept = numpyro.sample("intercept", dist.Normal(0, 2))
    effects = numpyro.sample("effects", dist.Normal(0, 2**0.5).expand([4]))
    sds = jnp.exp(numpyro.sample("log_sds", dist.Normal(0, 1).expand([2 + by_condition])))
    people = numpyro.sample("people", dist.Normal(0, 1).expand([40]))
    items = numpyro.sample("items", dist.Normal(0, 1).expand([25]))
    logit = intercept + effects[arm] + sds[0] * people[who] + sds[1] * items[what]
    if by_condition:
        own = numpyro.sample("own", dist.Normal(0, 1).expand([100]))
        logit = logit + sds[2] * own[what * 4 + arm]
    numpyro.sample("answer", dist.Bernoulli(logits=logit), obs=answer)


def summary(chains):
    values = chains.ravel()
    low, high = np.quantile(values, [0.025, 0.975])
    return {
        "mean": values.mean(), "sd": values.std(), "low": low, "high": high, "above": (values > 0).mean(),
        "n_eff": numpyro.diagnostics.effective_sample_size(chains),
        "r_hat": numpyro.diagnostics.split_gelman_rubin(chains),
    }  # fmt: skip


found = {
    "software": f"numpyro {numpyro.__version__}, jax {jax.__version__}",
    "command": "python nuts.py TRIALS.csv",
}
for by_condition, name in enumerate(("plain", "items within conditions")):
    kernel = NUTS(model, target_accept_prob=0.9)
    mcmc = MCMC(kernel, num_warmup=500, num_samples=3000, num_chains=4, chain_method="vectorized")
    mcmc.run(jax.random.PRNGKey(1), by_condition)
    draws = {key: np.asarray(values) for key, values in mcmc.get_samples(group_by_chain=True).items()}
    effects = draws["effects"]
    found[name] = {NAMES[k]: summary(effects[:, :, k] - effects[:, :, 0]) for k in (1, 2, 3)}
    found[name]["sds"] = np.exp(draws["log_sds"]).mean(axis=(0, 1)).tolist()
print(json.dumps(found, indent=1, default=lambda value: round(float(value), 4)))
